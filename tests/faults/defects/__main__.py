"""`python -m tests.faults.defects`."""

import sys

from .campaign import main

if __name__ == "__main__":  # workers import it
    sys.exit(main())
