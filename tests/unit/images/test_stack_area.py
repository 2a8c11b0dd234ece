"""When a stack pointer says that the stack has overflowed."""

from __future__ import annotations

import pytest

from hil import boards
from hil.boards.faults import CAUSES
from hil.images import Image, image_of
from hil.images.stack_area import overflow_of, stack_area

BOARD = boards.load("stm32h7b3")


@pytest.fixture(scope="module")
def image() -> Image:
    return image_of(BOARD.name)


def test_every_address_below_the_stack_is_an_overflow_and_none_within(image: Image) -> None:
    start, end = stack_area(image, BOARD)
    ram = next(region for region in BOARD.memory if region.kind == "ram" and start in region)
    for sp in (start, start + 8, end - 8, end):
        assert overflow_of(image, BOARD, sp) == ""
    for sp in (ram.start - 8, 0, 0xFFFF_FFF8):
        if not any(sp in region for region in BOARD.memory if region.kind == "ram"):
            said = overflow_of(image, BOARD, sp)
            assert said == f"; the stack pointer (0x{sp:08X}) is outside the RAM, so the stack has overflowed"
            assert overflow_of(image, BOARD, sp, main=False) == said
    if start > ram.start:
        for sp in (ram.start, start - 4):
            assert f"is below the stack, which begins at 0x{start:08X}, so the" in overflow_of(image, BOARD, sp)
            assert overflow_of(image, BOARD, sp, main=False) == ""  # the stack of a thread may be there


@pytest.mark.parametrize("bit", CAUSES)
def test_registers_that_could_not_be_stored_are_an_overflow(bit: int, image: Image) -> None:
    _, end = stack_area(image, BOARD)
    said = overflow_of(image, BOARD, end - 8, 1 << bit)
    assert ("so the stack has overflowed" in said) == (CAUSES[bit] in ("MSTKERR", "STKERR", "STKOF"))
