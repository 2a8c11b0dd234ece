"""The reference: every method in NumPy, written from docs/arithmetic.md and from nothing else."""
