"""The catalogue of boards: chip, memories, clock, flash routes, cycle counter, marker pin and budgets, with sources."""

from hil.boards.catalogue import Board, Region, load, names

__all__ = ["Board", "Region", "load", "names"]
