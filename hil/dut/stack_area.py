"""Where the stack of a firmware is, by the symbols that linker scripts define, and the paint that shows its use."""

from __future__ import annotations

from hil.boards import Board
from hil.errors import RigError
from hil.images import Image
from hil.targets.probe import RamFill

PAINT = 0xC5C5C5C5  # the same as of firmware/agent/memory.c, which paints its stack itself
ENDS = (  # lowest and highest address: of this project, CMSIS and Zephyr-like scripts
    ("__stack_bottom", "__stack_top"),
    ("__StackLimit", "__StackTop"),
    ("__stack_limit", "__stack"),
    ("_sstack", "_estack"),
    ("_stack_start", "_stack_end"),
)
SIZES = (("_estack", "_Min_Stack_Size"), ("__stack", "__stack_size"))  # highest address and size: of ST, of others


def stack_area(image: Image, board: Board) -> tuple[int, int]:
    """Return first address and end of the stack, both multiples of 4.

    Raises:
        RigError: the image has no pair of symbols that says so.
    """
    at = {symbol.name: symbol.value for symbol in image.table if not symbol.is_function}
    found = [(at[first], at[last]) for first, last in ENDS if first in at and last in at]
    found += [(at[top] - at[size], at[top]) for top, size in SIZES if top in at and size in at]
    for first, last in found:
        start, end = -(-first // 4) * 4, last // 4 * 4
        if start < end and any(start in ram and end - 1 in ram for ram in board.memory if ram.kind == "ram"):
            return start, end
    names = ", ".join(" and ".join(pair) for pair in (*ENDS, *SIZES))
    raise RigError(
        f"{image.path.name} does not say where its stack is: define {' and '.join(ENDS[0])} in its linker script "
        f"(known pairs: {names})."
    )


def paint_of(image: Image, board: Board) -> RamFill | None:
    """Return the paint of the stack, written before the program begins; None if it is not known where the stack is."""
    try:
        start, end = stack_area(image, board)
    except RigError:
        return None
    return RamFill(image.entry, ((start, PAINT.to_bytes(4, "little") * ((end - start) // 4)),))
