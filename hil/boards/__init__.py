"""The catalogue of boards: chip, memories, clock, flash routes, cycle counter, marker pin and budgets, with sources."""

from hil.boards.catalogue import BOARDS, Board, Region, command_board, is_known, load, names, working

__all__ = ["BOARDS", "Board", "Region", "command_board", "is_known", "load", "names", "working"]
