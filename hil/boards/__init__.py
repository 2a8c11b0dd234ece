"""The catalogue of boards: chip, memories, clock, flash route, counter, marker pin and budgets, each with its source."""

from hil.boards.catalogue import Board, Region, load, names

__all__ = ["Board", "Region", "load", "names"]
