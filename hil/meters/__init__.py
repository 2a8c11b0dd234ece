"""Power meters: one small protocol, one file an instrument."""
