"""The USART in virtual time: rate, FIFO, time-out, overrun, dead pins."""

from __future__ import annotations

import pytest

from hil.standins.virtual.chip.fault import ModelFault

from . import programs
from .conftest import Board

CR1, CR2, CR3, BRR, RTOR, ISR, ICR, RDR, TDR = (0x40011000 + i for i in (0, 4, 8, 12, 20, 28, 32, 36, 40))
FIFO_ON = 1 << 29 | 0b1101
BIT_PS = 10**12 * 64 // 64_000_000  # the divider is 64 at 64 MHz: 1 Mbaud
BYTE_PS = 10 * BIT_PS
ORE, RXNE, TC, RTOF, RXFT, TXFT, RXFF = 1 << 3, 1 << 5, 1 << 6, 1 << 11, 1 << 26, 1 << 27, 1 << 24


@pytest.fixture
def line(bare_board: Board) -> Board:
    """A board with clocks, pins and USART1 at 1 Mbaud with FIFO, no program running."""
    bare_board.bus_write(0x58024540, 1)
    bare_board.bus_write(0x58024550, 0x10)
    bare_board.bus_write(0x58020000, 0xABEBFFFF)
    bare_board.bus_write(0x58020024, 0x770)
    bare_board.bus_write(BRR, 64)
    bare_board.bus_write(RTOR, 25)
    bare_board.bus_write(CR2, 1 << 23)
    bare_board.bus_write(CR3, 3 << 25 | 1 << 28 | 4 << 29)
    bare_board.bus_write(CR1, FIFO_ON | 1 << 26)
    return bare_board


def pass_time(board: Board, ps: int) -> None:
    board.chip.clock.sleep_until(board.chip.clock.now + ps)
    board.chip.usart1.update(board.chip.clock.now)


def test_bytes_arrive_no_faster_than_the_line(line: Board) -> None:
    line.chip.usart1.feed(bytes(range(10)))
    pass_time(line, 3 * BYTE_PS - 1)
    assert [line.bus_read(RDR), line.bus_read(RDR)] == [0, 1]
    assert not line.bus_read(ISR) & RXNE
    pass_time(line, 1)
    assert line.bus_read(RDR) == 2


def test_the_interrupt_comes_at_twelve_bytes_or_with_silence(line: Board) -> None:
    usart, nvic = line.chip.usart1, line.chip.nvic
    start = line.chip.clock.now
    usart.feed(bytes(14))
    assert usart.next_event() == start + 12 * BYTE_PS
    pass_time(line, 12 * BYTE_PS - 1)
    assert not nvic.lines
    pass_time(line, 1)
    assert nvic.lines and line.bus_read(ISR) & RXFT
    for _ in range(12):
        line.bus_read(RDR)
    assert not nvic.lines
    silent = start + 14 * BYTE_PS + 25 * BIT_PS
    pass_time(line, 2 * BYTE_PS)
    assert usart.next_event() == silent
    pass_time(line, 25 * BIT_PS - 1)
    assert not line.bus_read(ISR) & RTOF
    pass_time(line, 1)
    assert line.bus_read(ISR) & RTOF and nvic.lines
    line.bus_write(ICR, RTOF)
    assert not line.bus_read(ISR) & RTOF


def test_the_eighteenth_byte_overruns(line: Board) -> None:
    line.chip.usart1.feed(bytes(range(20)))
    pass_time(line, 17 * BYTE_PS)
    assert line.bus_read(ISR) & (ORE | RXFF) == RXFF
    pass_time(line, 3 * BYTE_PS)
    assert line.bus_read(ISR) & ORE
    assert [line.bus_read(RDR) for _ in range(18)] == [*range(17), 0]


def test_sent_bytes_leave_one_after_the_other(line: Board) -> None:
    for byte in b"abcdef":
        line.bus_write(TDR, byte)
    pass_time(line, 6 * BYTE_PS - 1)
    assert bytes(line.sent) == b"abcde"
    assert not line.bus_read(ISR) & TC
    pass_time(line, 1)
    assert bytes(line.sent) == b"abcdef" and line.bus_read(ISR) & TC


def test_a_full_transmit_fifo_says_so_and_its_threshold_interrupts(line: Board) -> None:
    for byte in range(17):  # one goes straight on to the shift register
        assert line.bus_read(ISR) >> 7 & 1
        line.bus_write(TDR, byte)
    assert not line.bus_read(ISR) >> 7 & 1
    line.bus_write(CR3, line.bus_read(CR3) | 1 << 23)
    event = line.chip.usart1.next_event()
    assert event is not None
    pass_time(line, event - line.chip.clock.now - 1)
    assert not line.bus_read(ISR) & TXFT
    pass_time(line, 1)
    assert line.bus_read(ISR) & TXFT and line.chip.nvic.lines


def test_pins_without_their_function_are_dead(line: Board) -> None:
    line.bus_write(0x58020024, 0x700)
    line.bus_write(TDR, 65)
    pass_time(line, BYTE_PS)
    assert line.sent == b""
    line.chip.usart1.feed(b"x")
    line.bus_write(0x58020024, 0x070)
    pass_time(line, BYTE_PS)
    assert not line.bus_read(ISR) & RXNE


@pytest.mark.parametrize(("address", "value", "message"), [
    (BRR, 65, "clear UE first"), (CR1, 0b1101, "FIFOEN"), (CR3, 1 << 14, "DEM, which this model does not have"),
])  # fmt: skip
def test_what_must_not_be_written_now(line: Board, address: int, value: int, message: str) -> None:
    with pytest.raises(ModelFault, match=message):
        line.bus_write(address, value)


def test_without_its_clock_the_usart_is_not_there(bare_board: Board) -> None:
    with pytest.raises(ModelFault, match="RCC_APB2ENR"):
        bare_board.bus_read(ISR)


def test_a_program_echoes(bare_board: Board) -> None:
    bare_board.load(programs.ECHO)
    bare_board.chip.advance(1000)
    bare_board.chip.usart1.feed(bytes(range(50)))
    for _ in range(200):
        bare_board.chip.advance(1000)
    assert bare_board.chip.fault is None
    assert bytes(bare_board.sent) == bytes(range(50))
