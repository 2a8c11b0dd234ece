"""`float32`: IEEE 754 binary32. Its kernels need no memory beside values and errors (docs/memory.md)."""

WORDS = "binary32"
REFERENCE = "hil.training.reference.formats.float32.network:Float32Network"  # of the yardstick of QZO-FF
VALUE = 4  # bytes of a value, an error, a gradient
