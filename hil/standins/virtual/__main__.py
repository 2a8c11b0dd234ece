"""`python -m hil.standins.virtual`: the virtual board."""

from __future__ import annotations

import sys

from hil.standins.virtual.server import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
