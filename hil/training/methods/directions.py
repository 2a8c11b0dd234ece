"""What the numbers of a direction are (docs/arithmetic-qzo-ff.md, section 3)."""

FRACTION = 5  # bits: the number z stands for z / 32
LARGEST_TABLE = {"gaussian": 92, "binomial": 91}  # the largest z, by distribution
