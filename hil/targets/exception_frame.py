"""The return of an interrupt handler: where the core goes on, from the frame that the exception has pushed.

Numbers from ARM DDI 0403E.e, B1.5.6 to B1.5.8 (Armv7-M, also of the floating-point frame), ARM DDI 0419E, B1.5.6 to
B1.5.8 (Armv6-M), and ARM DDI 0553B.l, EXC_RETURN, RetPSR and PushStack (Armv8-M, also of the additional state context).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

LOWEST, RESET_LR = 0xFFFFFF80, 0xFFFFFFFF  # of EXC_RETURN in lr; what lr has after a reset
TO_SECURE, ON_PSP, BASIC, NO_CONTEXT, SECURE = 1 << 0, 1 << 2, 1 << 4, 1 << 5, 1 << 6  # bits of EXC_RETURN
PC, XPSR, ALIGNED = 0x18, 0x1C, 1 << 9  # offsets in the frame; the bit of the pushed xPSR that says of a padding word
SIZES, CONTEXT = {True: (0x20,), False: (0x68, 0xA8)}, 0x28  # 0xA8: FPCCR.TS pushes s16 to s31 too


class WayBack(NamedTuple):
    """Where a call returns to: the address, and what the stack pointer can be there."""

    address: int
    pointers: tuple[int, ...]


def is_exception_return(lr: int) -> bool:
    """Return whether lr has an EXC_RETURN: of an interrupt handler, and of a function to which one jumps at its end."""
    return LOWEST <= lr != RESET_LR


def way_back(lr: int, sp: int, psp: Callable[[], int], word: Callable[[int], int]) -> WayBack | None:
    """Return where the core goes on after an interrupt handler; None if the frame is in the other security state.

    Args:
        lr: the EXC_RETURN.
        sp: stack pointer at the first instruction of the handler, before it pushes anything.
        psp: returns the stack pointer of threads; called only if the frame is there.
        word: reads 32 bits of memory.
    """
    if bool(lr & TO_SECURE) != bool(lr & SECURE):
        return None
    frame = (psp() if lr & ON_PSP else sp) + (CONTEXT if lr & SECURE and not lr & NO_CONTEXT else 0)
    padding = 4 if word(frame + XPSR) & ALIGNED else 0
    return WayBack(word(frame + PC) & ~1, tuple(frame + size + padding for size in SIZES[bool(lr & BASIC)]))
