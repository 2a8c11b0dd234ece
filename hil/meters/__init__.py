"""Power meters: one small protocol, one file per instrument."""
