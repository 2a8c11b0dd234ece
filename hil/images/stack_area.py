"""Where the stack of a firmware is, by the symbols that linker scripts define, and whether it has overflowed."""

from __future__ import annotations

from hil.boards import Board, faults
from hil.errors import RigError
from hil.images.images import Image

ENDS = (  # lowest and highest address: of this project, CMSIS and Zephyr-like scripts
    ("__stack_bottom", "__stack_top"),
    ("__StackLimit", "__StackTop"),
    ("__stack_limit", "__stack"),
    ("_sstack", "_estack"),
    ("_stack_start", "_stack_end"),
)
SIZES = (("_estack", "_Min_Stack_Size"), ("__stack", "__stack_size"))  # highest address and size: of ST, of others

NOT_STACKED = 1 << 4 | 1 << 12 | 1 << 20  # MSTKERR, STKERR and STKOF of CFSR (`faults.CAUSES`)


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


def overflow_of(image: Image, board: Board, sp: int, cfsr: int = 0, main: bool = True) -> str:
    """Return what says that the stack of a core that has faulted has overflowed, as the end of a sentence; else "".

    Args:
        image: the program.
        board: its catalogue entry.
        sp: stack pointer; it is decremented also if the registers could not be stored (ARM DDI 0403E.e, B1.5.6).
        cfsr: Configurable Fault Status Register; 0 if it is not known.
        main: whether it is the main stack, and not that of a thread, which may be anywhere in RAM.
    """
    where = f"the stack pointer (0x{sp:08X})"
    rams = [region for region in board.memory if region.kind == "ram"]
    if not any(region.start <= sp <= region.start + region.size for region in rams):  # that of an empty stack is an end
        return f"; {where} is outside the RAM, so the stack has overflowed"
    try:
        start, _ = stack_area(image, board)
    except RigError:
        start = 0
    if main and sp < start and any(sp in region and start in region for region in rams):
        return f"; {where} is below the stack, which begins at 0x{start:08X}, so the stack has overflowed"
    if cfsr & NOT_STACKED:
        said = ", ".join(faults.causes(cfsr & NOT_STACKED))
        return f"; the registers could not be stored at {where} ({said}), so the stack has overflowed"
    return ""
