"""Golden digests: what every method gives on the small networks, kept in fixtures/golden, and who is held against it."""
