"""Layers with an exponent a tensor in NumPy, written from docs/arithmetic.md and from nothing else."""
