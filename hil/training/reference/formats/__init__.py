"""The arithmetic of each number format in NumPy: the same names as in hil/training/formats."""
