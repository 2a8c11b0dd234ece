"""The number format `affine8` in NumPy (docs/arithmetic-affine8.md)."""
