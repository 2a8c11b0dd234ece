"""The number format `float32` in NumPy (docs/arithmetic-float32.md)."""
