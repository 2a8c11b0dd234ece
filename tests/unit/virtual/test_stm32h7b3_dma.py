"""DMA1, DMAMUX1 and USART1 of STM32H7B3 together: what the ring receives, when it interrupts, and what must not be set up."""

from __future__ import annotations

import pytest

from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.stm32.dma import HTIF, TCIF
from hil.standins.virtual.chip.stm32f746.dma import Dma2
from hil.standins.virtual.chip.stm32h7b3.chip import USART1_IRQ
from hil.standins.virtual.chip.stm32h7b3.dmamux import DMA1_IRQS

from .conftest import Board

CR1, CR3, BRR, ISR, ICR, RDR, TDR = (0x40011000 + i for i in (0, 8, 12, 28, 32, 36, 40))
DMA1, MUX = 0x40020000, 0x40020800
LISR, LIFCR = DMA1, DMA1 + 8
S0CR, S0NDTR, S0PAR, S0M0AR = (DMA1 + 0x10 + i for i in (0, 4, 8, 12))
BIT_PS = 10**12 * 64 // 64_000_000  # the divider is 64 at 64 MHz: 1 Mbaud
BYTE_PS = 10 * BIT_PS
RING = 0x30000100
RECEIVE = 1 << 20 | 1 << 10 | 1 << 8 | 1 << 4 | 1 << 3  # bufferable, memory increment, circular, both interrupts
SEND = 1 << 20 | 1 << 10 | 1 << 6 | 1 << 4
IDLE, RXNE, ORE = 1 << 4, 1 << 5, 1 << 3


@pytest.fixture
def line(bare_board: Board) -> Board:
    """Clocks, pins and USART1 at 1 Mbaud with FIFO and DMA requests, stream 0 ready for what it receives; no program runs."""
    write = bare_board.bus_write
    write(0x58024538, 1)
    write(0x5802453C, 1 << 29)
    write(0x58024540, 1)
    write(0x58024550, 0x10)
    write(0x58020000, 0xABEBFFFF)
    write(0x58020024, 0x770)
    write(BRR, 64)
    write(CR3, 3 << 6)
    write(CR1, 1 << 29 | 0b11101)
    write(MUX, 41)
    for register, value in ((S0PAR, RDR), (S0M0AR, RING), (S0NDTR, 16)):
        write(register, value)
    return bare_board


def pass_time(board: Board, ps: int) -> None:
    board.chip.clock.sleep_until(board.chip.clock.now + ps)
    board.chip.usart1.update(board.chip.clock.now)


def waiting(board: Board, irq: int) -> bool:
    return bool(board.chip.nvic.lines >> 16 + irq & 1)


def test_a_ring_fills_without_the_core_and_interrupts_at_half_and_end(line: Board) -> None:
    line.bus_write(S0CR, RECEIVE | 1)
    start = line.chip.clock.now
    line.chip.usart1.feed(bytes(range(20)))
    assert line.chip.usart1.next_event() == start + 8 * BYTE_PS
    pass_time(line, 8 * BYTE_PS - 1)
    assert not waiting(line, DMA1_IRQS[0]) and line.bus_read(S0NDTR) == 16 - 7
    pass_time(line, 1)
    assert waiting(line, DMA1_IRQS[0]) and line.bus_read(LISR) == HTIF
    line.bus_write(LIFCR, 0x3D)
    assert not waiting(line, DMA1_IRQS[0])
    pass_time(line, 12 * BYTE_PS)
    assert line.bus_read(LISR) == TCIF and line.bus_read(S0NDTR) == 12
    assert line.chip.core.peek(RING, 16) == bytes([16, 17, 18, 19, *range(4, 16)])
    assert not line.bus_read(ISR) & (RXNE | ORE) and not waiting(line, USART1_IRQ)
    pass_time(line, BYTE_PS)
    assert waiting(line, USART1_IRQ) and line.bus_read(ISR) & IDLE


def test_a_stream_that_starts_late_takes_what_the_fifo_holds(line: Board) -> None:
    line.chip.usart1.feed(b"waits")
    pass_time(line, 5 * BYTE_PS)
    assert line.bus_read(ISR) & RXNE
    line.bus_write(S0CR, RECEIVE | 1)
    assert not line.bus_read(ISR) & RXNE and line.chip.core.peek(RING, 5) == b"waits"


def test_what_is_sent_fills_the_fifo_and_leaves_in_order(line: Board) -> None:
    line.bus_write(MUX, 42)
    line.bus_write(S0PAR, TDR)
    line.bus_write(S0NDTR, 20)
    line.chip.core.poke(RING, bytes(range(20)))
    start = line.chip.clock.now
    line.bus_write(S0CR, SEND | 1)
    assert line.bus_read(S0NDTR) == 3  # one leaves, sixteen are in the FIFO
    assert line.chip.usart1.next_event() == start + 3 * BYTE_PS
    pass_time(line, 3 * BYTE_PS)
    assert waiting(line, DMA1_IRQS[0]) and not line.bus_read(S0CR) & 1 and len(line.sent) == 3
    pass_time(line, 17 * BYTE_PS)
    assert bytes(line.sent) == bytes(range(20))


@pytest.mark.parametrize(
    ("register", "value", "control", "reason"),
    [
        (MUX, 41, RECEIVE & ~(1 << 20), "TRBUFF"),
        (MUX, 40, RECEIVE, "DMAREQ_ID = 40"),
        (MUX, 42, RECEIVE, "do not match USART1_TX"),
        (S0M0AR, 0x20000000, RECEIVE, "not memory of the DMA"),
        (S0PAR, TDR, RECEIVE, "do not match USART1_RX"),
        (0x5802453C, 0, RECEIVE, "its clock is off"),
    ],
)
def test_a_stream_that_would_not_work_on_the_chip_faults(
    line: Board, register: int, value: int, control: int, reason: str
) -> None:
    line.bus_write(register, value)
    with pytest.raises(ModelFault, match=reason):
        line.bus_write(S0CR, control | 1)


def test_nothing_is_there_before_its_clock(bare_board: Board) -> None:
    for register in (S0CR, MUX):
        with pytest.raises(ModelFault, match="RCC_AHB1ENR.DMA1EN"):
            bare_board.bus_read(register)


def test_the_registers_are_those_of_the_same_controller_elsewhere(line: Board) -> None:
    """The F746's are compared with its SVD file; the H7's differ in the channel, which DMAMUX1 replaces, and in TRBUFF."""
    for ours, theirs in zip(type(line.chip.dma1).REGISTERS, Dma2.REGISTERS, strict=True):
        assert (ours.name, ours.offset, ours.reset) == (theirs.name, theirs.offset, theirs.reset)
        assert set(ours.by_name) ^ set(theirs.by_name) == ({"TRBUFF", "CHSEL"} if ours.name[2:] == "CR" else set())
