"""`python -m tests.faults.instruments`."""

import sys

from .table import main

sys.exit(main())
