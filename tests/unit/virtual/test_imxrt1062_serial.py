"""LPUART6 and the eDMA of the virtual i.MX RT1062: what a program may do, and what it is stopped for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.standins.virtual.chip.fault import ModelFault

from .teensy import BAUD, Teensy, booted

CSCDR1, CCGR3, CCGR5 = 0x400FC024, 0x400FC074, 0x400FC07C
GPR1 = 0x400AC004
UART, DMA, DMAMUX, TCD = 0x40198000, 0x400E8000, 0x400EC000, 0x400E9000
RING = 0x20001000


@pytest.fixture
def board() -> Teensy:
    return booted()


def start_uart(board: Teensy, baud: int = 25 << 24 | 1, ctrl: int = 0x000C0004) -> None:
    board.modify(CCGR3, 0, 3 << 6)
    board.modify(CSCDR1, 0x7F, 1 << 6)
    for address, value in ((0x401F80C4, 2), (0x401F80C8, 2), (0x401F8550, 1), (0x401F8554, 1)):
        board.write(address, value)
    board.write(UART + 0x08, 2)
    board.write(UART + 0x08, 0)
    board.write(UART + 0x10, baud)
    board.write(UART + 0x28, 1 << 3 | 1 << 7)
    board.write(UART + 0x2C, 1)
    board.write(UART + 0x18, ctrl)


def start_dma(board: Teensy, count: int = 64, control: int = 6, **changes: int) -> None:
    """Channel 0: received bytes into a ring; channel 1 is left as it is."""
    board.modify(CCGR5, 0, 3 << 6)
    board.write(GPR1, 1 << 31)
    words = {"saddr": UART + 0x1C, "soff_attr": 0, "nbytes": 1, "slast": 0, "daddr": RING, "doff_citer": 1 | count << 16,
             "dlast": -count & 0xFFFFFFFF, "csr_biter": control | count << 16} | changes  # fmt: skip
    for i, value in enumerate(words.values()):
        board.write(TCD + 4 * i, value)
    board.write(DMAMUX, 1 << 31 | 71)
    board.write(DMA + 0x1B, 0, 1)


def byte_ps(n: int) -> int:
    return n * 10 * 10**12 // BAUD


def test_four_words_wait_in_the_fifo_and_a_fifth_overruns(board: Teensy) -> None:
    start_uart(board)
    board.chip.lpuart6.feed(bytes(range(6)))
    board.pass_time(byte_ps(6))
    assert board.read(UART + 0x2C) >> 24 == 4
    assert board.read(UART + 0x14) & 0x1F << 16 == 1 << 19
    assert [board.read(UART + 0x1C) & 0xFF for _ in range(4)] == [0, 1, 2, 3]
    assert board.read(UART + 0x1C) == 1 << 12
    board.chip.lpuart6.feed(b"x")
    board.pass_time(byte_ps(2))
    assert board.read(UART + 0x1C) == 1 << 12, "nothing is stored until the flag is cleared"
    board.write(UART + 0x14, 1 << 19)
    board.chip.lpuart6.feed(b"y")
    board.pass_time(byte_ps(2))
    assert board.read(UART + 0x1C) == ord("y")


def test_what_is_written_leaves_in_its_time(board: Teensy) -> None:
    start_uart(board)
    for byte in b"abcde":
        board.write(UART + 0x1C, byte)
    assert board.read(UART + 0x2C) >> 8 & 7 == 4
    board.pass_time(byte_ps(3))
    assert bytes(board.sent) in (b"ab", b"abc")
    board.pass_time(byte_ps(3))
    assert bytes(board.sent) == b"abcde" and board.read(UART + 0x14) >> 22 & 3 == 3


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 100), min_size=1, max_size=8), st.sampled_from([2, 64, 100]))
def test_the_dma_ring_holds_what_came(lengths: list[int], size: int) -> None:
    """An oracle of one list: the ring holds the last bytes that came, the counter how far it is, the interrupts every half and whole round."""
    board = booted()
    start_uart(board, 25 << 24 | 1 << 21 | 1)
    start_dma(board, size)
    board.chip.core.poke(RING, bytes(size))
    came, interrupts = b"", 0
    for i, length in enumerate(lengths):
        data = bytes((i * 37 + k) & 0xFF for k in range(length))
        board.chip.lpuart6.feed(data)
        while board.chip.lpuart6.backlog:
            event = board.chip.lpuart6.next_event()
            board.chip.clock.wait_until(event)
            board.chip.lpuart6.update(event)
            interrupts += board.read(DMA + 0x24)
            board.write(DMA + 0x24, 1)
        came += data
    expected = bytearray(size)
    for k, byte in enumerate(came):
        expected[k % size] = byte
    assert board.chip.core.peek(RING, size) == bytes(expected)
    assert board.read(TCD + 0x14) >> 16 == size - len(came) % size
    assert interrupts == len(came) // (size // 2) if size > 2 else interrupts == len(came)


def test_silence_is_told_once(board: Teensy) -> None:
    start_uart(board, 25 << 24 | 1 << 21 | 1, 0x001C0004)
    start_dma(board)
    board.chip.lpuart6.feed(b"abc")
    board.pass_time(byte_ps(3))
    assert not board.chip.nvic.lines >> 16 + 25 & 1
    board.pass_time(byte_ps(1) + 2)
    assert board.chip.nvic.lines >> 16 + 25 & 1 and board.read(UART + 0x14) >> 20 & 1
    board.write(UART + 0x14, 1 << 20)
    assert not board.chip.nvic.lines >> 16 + 25 & 1
    board.pass_time(byte_ps(50))
    assert not board.read(UART + 0x14) >> 20 & 1
    assert board.chip.core.peek(RING, 3) == b"abc"


def test_the_dma_sends_and_stops_when_it_is_done(board: Teensy) -> None:
    start_uart(board, 25 << 24 | 1 << 23 | 1)
    board.chip.core.poke(RING, b"trainrig on a teensy")
    start_dma(board, 20, 10, saddr=RING, soff_attr=1, slast=0, daddr=UART + 0x1C, doff_citer=20 << 16, dlast=0)
    board.write(DMAMUX, 1 << 31 | 70)
    board.pass_time(byte_ps(10))
    assert board.read(DMA + 0x24) == 0 and 8 <= len(board.sent) <= 10
    board.pass_time(byte_ps(12))
    assert bytes(board.sent) == b"trainrig on a teensy"
    assert (board.read(DMA + 0x24), board.read(DMA + 0x0C)) == (1, 0)


@pytest.mark.parametrize(("changes", "message"), [
    ({"nbytes": 4}, "is not one of bytes"), ({"soff_attr": 0x02020000}, "is not one of bytes"), ({"doff_citer": 65 << 16 | 1}, "is not one of"),
    ({"saddr": UART + 0x18}, "is not one of bytes"), ({"csr_biter": 0x10 | 64 << 16}, "is not one of bytes"),
    ({"daddr": 0x20020000}, "where the chip has no memory"), ({"daddr": 0x30000000}, "where the chip has no memory"),
])  # fmt: skip
def test_a_descriptor_that_is_wrong_stops_the_program(board: Teensy, changes: dict[str, int], message: str) -> None:
    start_uart(board, 25 << 24 | 1 << 21 | 1)
    start_dma(board, **changes)
    board.chip.lpuart6.feed(b"x")
    with pytest.raises(ModelFault, match=message):
        board.pass_time(byte_ps(2))


def test_tcm_is_out_of_reach_of_the_dma_while_the_core_sleeps(board: Teensy) -> None:
    start_uart(board, 25 << 24 | 1 << 21 | 1)
    start_dma(board)
    board.write(GPR1, 0)
    board.chip.lpuart6.feed(b"x")
    with pytest.raises(ModelFault, match="set IOMUXC_GPR1.CM7_FORCE_HCLK_EN"):
        board.pass_time(byte_ps(2))


def test_bytes_at_a_wrong_speed_are_damaged(board: Teensy) -> None:
    start_uart(board, 25 << 24 | 2)
    assert "LPUART6 runs at 461538 baud, the line at 921600" in board.log[-1]
    board.chip.lpuart6.feed(b"\x55")
    board.pass_time(byte_ps(1))
    assert board.read(UART + 0x14) >> 17 & 1
    assert board.read(UART + 0x1C) != 0x55


@pytest.mark.parametrize(("offset", "value", "message"), [
    (0x10, 25 << 24 | 2, "BAUD changes while"), (0x28, 0, "FIFO changes while"), (0x2C, 2, "WATER changes while"), (0x0C, 1, "sets TRGSEL"),
    (0x18, 0x000C0006, "sets PE"),
])  # fmt: skip
def test_what_an_enabled_lpuart_does_not_bear(board: Teensy, offset: int, value: int, message: str) -> None:
    start_uart(board)
    with pytest.raises(ModelFault, match=message):
        board.write(UART + offset, value)


def test_a_line_that_leads_nowhere(board: Teensy) -> None:
    start_uart(board)
    board.write(0x401F8550, 0)  # the other pad is chosen
    board.chip.lpuart6.feed(b"x")
    board.pass_time(byte_ps(2))
    assert board.read(UART + 0x1C) == 1 << 12
