"""The virtual board: a process of its own that offers the endpoints of a board (`hil bench-server`)."""
