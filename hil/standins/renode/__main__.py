"""`python -m hil.standins.renode`: run a board on Renode."""

from __future__ import annotations

import sys

from hil.standins.renode.server import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
