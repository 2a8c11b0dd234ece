"""Networks and samples drawn for the corners of the firmware's kernels, and the trials that train them."""
