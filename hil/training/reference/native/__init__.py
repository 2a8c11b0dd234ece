"""The reference's arithmetic in C, compiled on the host: the same bits as NumPy's, in less time.

Each format that has it has a folder here; all their C is one library.
"""
