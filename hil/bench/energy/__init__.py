"""`hil bench energy`: coverage of the energy intervals, from a virtual instrument to the uncertainty budget."""

from hil.bench.energy.rows import main

__all__ = ["main"]
