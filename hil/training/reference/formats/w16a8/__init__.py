"""`w16a8` in NumPy (docs/arithmetic-w16a8.md)."""
