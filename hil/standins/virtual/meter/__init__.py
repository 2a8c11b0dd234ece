"""The meter: a SCPI instrument, and the truth that it reads with its own errors."""
