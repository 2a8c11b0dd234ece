"""`float32`: IEEE 754 binary32. Its kernels need no memory beside values and errors (docs/memory-graph.md)."""

WORDS = "binary32"
VALUE = 4  # bytes of a value, an error, a gradient
