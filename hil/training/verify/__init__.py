"""What `hil verify` and `hil pack` need to know of methods, networks and data."""
