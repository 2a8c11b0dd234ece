"""The frame of an exception on Armv8-M: where it is by EXC_RETURN (ARM DDI 0553B.l, EXC_RETURN and context stacking)."""

from __future__ import annotations

import pytest

from hil.images import image_of
from hil.images.unwind import LR, SP, Caller, call_chain

MAIN, THREAD, PC, NOWHERE = 0x3800_1000, 0x3800_2000, 0x1000_4000, 0x0800_0000
FOUND = [Caller(PC, called=False)]


def stacked(start: int) -> dict[int, int]:
    """Return a frame: r0 to r3, r12, lr, pc, xPSR."""
    return {start + 4 * place: word for place, word in enumerate((0, 0, 0, 0, 0, 0, PC, 1 << 24))}


@pytest.mark.parametrize(("back", "start", "found"), [
    (0xFFFF_FFF9, MAIN, FOUND),  # S and ES: handled in Secure state, frame on the Secure main stack
    (0xFFFF_FFFD, THREAD, FOUND),  # SPSEL: on that of a thread
    (0xFFFF_FFD9, MAIN + 40, FOUND),  # no DCRS: signature, a reserved word and r4 to r11 are below the frame
    (0xFFFF_FFBC, THREAD, FOUND),  # neither S nor ES: all in Non-secure state
    (0xFFFF_FFB9, MAIN, []),  # ES, not S: the frame is on a Non-secure stack
    (0xFFFF_FFF8, MAIN, []),  # S, not ES
    (0xFEFF_FFFF, MAIN, []),  # FNC_RETURN: no exception
])  # fmt: skip
def test_a_frame_is_where_exc_return_says(back: int, start: int, found: list[Caller]) -> None:
    words = stacked(start)
    path = image_of("mps2-an505").path
    assert call_chain(path, NOWHERE, {SP: MAIN, LR: back}, words.get, THREAD) == found
