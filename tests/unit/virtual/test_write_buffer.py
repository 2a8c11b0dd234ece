"""A handler that clears its interrupt as its last act: it runs twice, because the store has not arrived at its return."""

from __future__ import annotations

import struct

import pytest

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.write_buffer import store_is_pending

from .conftest import Board

USART1, TC, EXCEPTION = 0x40011000, 1 << 6, 16 + 37
COUNT, CLEAR, RETURN = [0x3701], [0x6201], [0x4770]  # adds r7, #1; str r1, [r0, #0x20]: ICR; bx lr
DSB, DMB, ISB, READ_BACK, NOP = [0xF3BF, 0x8F4F], [0xF3BF, 0x8F5F], [0xF3BF, 0x8F6F], [0x69C2], [0xBF00]


def halfwords(*parts: list[int]) -> bytes:
    code = [one for part in parts for one in part]
    return struct.pack(f"<{len(code)}H", *code)


@pytest.mark.parametrize(
    ("handler", "runs"),
    [
        ([COUNT, CLEAR, RETURN], 2), ([COUNT, CLEAR, NOP, NOP, NOP, RETURN], 2), ([COUNT, CLEAR, DMB, RETURN], 2),
        ([COUNT, CLEAR, DSB, RETURN], 1), ([COUNT, CLEAR, READ_BACK, RETURN], 1), ([CLEAR, *[NOP] * 4, COUNT, RETURN], 1),
    ],
)  # fmt: skip
def test_a_handler_runs_twice_unless_its_store_has_arrived(
    bare_board: Board, handler: list[list[int]], runs: int
) -> None:
    bare_board.load(halfwords([0xBF30, 0xE7FD]) + bytes(0x1C) + halfwords(*handler), {EXCEPTION: 0x20})  # 1: wfi; b 1b
    bare_board.bus_write(0x58024550, 0x10)
    bare_board.bus_write(USART1 + 0x0C, 64)
    for register, value in ((0, USART1), (1, TC), (7, 0)):
        bare_board.chip.core.set(c.R[register], value)
    bare_board.bus_write(0xE000E104, 1 << 5)
    bare_board.bus_write(USART1, 0b1001 | TC)  # UE, TE and TCIE: nothing was ever sent, so TC is set
    bare_board.run()
    assert bare_board.chip.fault is None and bare_board.r(7) == runs
    assert sum("it runs twice" in line for line in bare_board.log) == runs - 1


@pytest.mark.parametrize(
    ("code", "pending"),
    [
        ([0xF8C0, 0x1020, 0x4770], True),  # str.w r1, [r0, #0x20]
        ([0xF8D0, 0x1020, 0x4770], False),  # ldr.w
        ([0xE9C0, 0x1208, 0x4770], True),  # strd
        ([0x6201, 0xE8BD, 0x8010], True),  # ldmia.w sp!, {r4, pc}: the return itself
        ([0x6201, 0xBC10, 0x4770], False),  # pop {r4}, then bx lr
        ([0xB510, 0x4770], True),  # push
        ([*ISB, 0x4770], False),
        ([0x4770], False),
    ],
)
def test_blocks_that_end_with_a_store(code: list[int], pending: bool) -> None:
    assert store_is_pending(halfwords(code)) == pending
