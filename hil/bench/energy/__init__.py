"""`hil bench energy`: what the intervals of the energy cover, by the whole path from a virtual instrument to the budget."""

from hil.bench.energy.rows import main

__all__ = ["main"]
