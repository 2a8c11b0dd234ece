"""`hil bench energy`: coverage of the energy intervals, from a virtual instrument to the uncertainty budget."""

from hil.benchmarks.energy.rows import main

__all__ = ["main"]
