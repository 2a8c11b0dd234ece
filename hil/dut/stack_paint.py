"""The paint of a stack, which shows how much of it a program has used."""

from __future__ import annotations

from hil.boards import Board
from hil.errors import RigError
from hil.images import Image
from hil.images.stack_area import stack_area
from hil.targets.probe import RamFill

PAINT = 0xC5C5C5C5  # the same as of firmware/agent/memory.c, which paints its stack itself
UNPAINTED = 0x3A3A3A3A  # what such a program must overwrite: the stack of one that does not has no paint


def paint_of(image: Image, board: Board, word: int) -> RamFill | None:
    """Return a fill of the stack, written before the program begins; None if it is not known where the stack is."""
    try:
        start, end = stack_area(image, board)
    except RigError:
        return None
    return RamFill(image.entry, ((start, word.to_bytes(4, "little") * ((end - start) // 4)),))
