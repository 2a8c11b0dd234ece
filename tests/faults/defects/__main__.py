"""`python -m tests.faults.defects`."""

import sys

from .campaign import main

sys.exit(main())
