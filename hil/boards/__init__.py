"""The catalogue of boards: chip, memories, clock, flash route, counter, marker pin and budgets, each with its source."""

from hil.boards.catalogue import Board, Region, load, names
from hil.boards.images import Image, image_of

__all__ = ["Board", "Image", "Region", "image_of", "load", "names"]
