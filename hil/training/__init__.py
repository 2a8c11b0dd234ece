"""The training half: what trains, its reference, networks and data. It is one client of the bench (hil.clients)."""
