"""DMA2 and USART1 of STM32F746 together: what the streams move, when they interrupt, and what must not be set up."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.memories import MemoryMap, PhysicalMemory
from hil.standins.virtual.chip.stm32.dma import HTIF, TCIF, DmaStream, DmaWindow
from hil.standins.virtual.chip.stm32f746.chip import USART1_IRQ
from hil.standins.virtual.chip.stm32f746.dma import IRQS as DMA2_IRQS

from .f746 import AHB1ENR, APB2ENR, DMA2, F746, GPIOA, GPIOB, USART1

CR1, CR3, BRR, ISR, ICR, RDR, TDR = (USART1 + i for i in (0x00, 0x08, 0x0C, 0x1C, 0x20, 0x24, 0x28))
BIT_PS = 10**12 * 16 // 16_000_000  # the divider is 16 at 16 MHz: 1 Mbaud
BYTE_PS = 10 * BIT_PS
RING, SENDING = 0x20001000, 0x2004FE00
RECEIVE = 4 << 25 | 1 << 10 | 1 << 8 | 1 << 4 | 1 << 3  # channel 4, memory increment, circular, both interrupts
SEND = 4 << 25 | 1 << 10 | 1 << 6 | 1 << 4
IDLE, RXNE, TC, TXE, ORE = 1 << 4, 1 << 5, 1 << 6, 1 << 7, 1 << 3


def register(stream: int, name: str) -> int:
    return DMA2 + 0x10 + 0x18 * stream + {"CR": 0, "NDTR": 4, "PAR": 8, "M0AR": 12}[name]


def set_up(chip: F746, stream: int, control: int, size: int, peripheral: int, memory: int) -> None:
    for name, value in (("PAR", peripheral), ("M0AR", memory), ("NDTR", size), ("CR", control)):
        chip.write(register(stream, name), value)


def line(chip: F746, ring: int = 16) -> F746:
    """Clocks, pins and USART1 at 1 Mbaud, with a ring behind the receiver; no program runs."""
    chip.write(AHB1ENR, 1 << 22 | 1 << 20 | 0b11)
    chip.write(APB2ENR, 0x10)
    chip.write(GPIOA, 0xA8080000)
    chip.write(GPIOA + 0x24, 0x70)
    chip.write(GPIOB, 0x00008280)
    chip.write(GPIOB + 0x20, 7 << 28)
    set_up(chip, 2, RECEIVE, ring, RDR, RING)
    chip.write(register(2, "CR"), RECEIVE | 1)
    chip.write(BRR, 16)
    chip.write(CR3, 3 << 6)
    chip.write(CR1, 0b11101)
    return chip


def memory(chip: F746, address: int, size: int) -> bytes:
    return chip.chip.core.peek(address, size)


def waiting(chip: F746, irq: int) -> bool:
    return bool(chip.chip.nvic.lines >> 16 + irq & 1)


def test_a_ring_fills_without_the_core_and_interrupts_at_half_and_end(f746: F746) -> None:
    line(f746)
    start = f746.chip.clock.now
    f746.chip.usart1.feed(bytes(range(20)))
    assert f746.chip.usart1.next_event() == start + 8 * BYTE_PS
    f746.pass_time(8 * BYTE_PS - 1)
    assert not waiting(f746, DMA2_IRQS[2]) and f746.read(register(2, "NDTR")) == 16 - 7
    f746.pass_time(1)
    assert waiting(f746, DMA2_IRQS[2]) and f746.read(DMA2) == HTIF << 16
    f746.write(DMA2 + 8, 0x3D << 16)
    assert not waiting(f746, DMA2_IRQS[2])
    assert f746.chip.usart1.next_event() == start + 16 * BYTE_PS
    f746.pass_time(12 * BYTE_PS)
    assert f746.read(DMA2) == TCIF << 16 and f746.read(register(2, "NDTR")) == 12
    assert memory(f746, RING, 16) == bytes([16, 17, 18, 19, *range(4, 16)])
    assert not f746.read(ISR) & (RXNE | ORE)


def test_silence_interrupts_where_a_half_is_not_reached(f746: F746) -> None:
    line(f746)
    f746.chip.usart1.feed(b"abc")
    f746.pass_time(4 * BYTE_PS - 1)
    assert not waiting(f746, USART1_IRQ)
    assert f746.chip.usart1.next_event() == f746.chip.clock.now + 1
    f746.pass_time(1)
    assert waiting(f746, USART1_IRQ) and f746.read(ISR) & IDLE
    f746.write(ICR, IDLE)
    assert not waiting(f746, USART1_IRQ) and memory(f746, RING, 3) == b"abc"


def test_without_its_stream_one_byte_is_held_and_the_next_overruns(f746: F746) -> None:
    line(f746)
    f746.write(register(2, "CR"), RECEIVE)
    f746.chip.usart1.feed(b"xy")
    f746.pass_time(2 * BYTE_PS)
    assert f746.read(ISR) & (RXNE | ORE) == RXNE | ORE
    f746.write(register(2, "CR"), RECEIVE | 1)
    assert not f746.read(ISR) & RXNE and memory(f746, RING, 1) == b"x"


def test_bytes_leave_from_memory_one_after_the_other(f746: F746) -> None:
    line(f746)
    f746.chip.core.poke(SENDING, b"sent by the DMA")
    set_up(f746, 7, SEND, 15, TDR, SENDING)
    start = f746.chip.clock.now
    f746.write(register(7, "CR"), SEND | 1)
    assert f746.read(register(7, "NDTR")) == 13  # one leaves, one waits
    f746.pass_time(5 * BYTE_PS)
    assert bytes(f746.sent) == b"sent "
    assert f746.chip.usart1.next_event() == start + 13 * BYTE_PS  # the last byte goes to TDR when the 13th has left
    f746.pass_time(8 * BYTE_PS - 1)
    assert not waiting(f746, DMA2_IRQS[7]) and f746.read(register(7, "CR")) & 1
    f746.pass_time(1)
    assert waiting(f746, DMA2_IRQS[7]) and not f746.read(register(7, "CR")) & 1
    assert f746.read(DMA2 + 4) == TCIF << 22 | HTIF << 22
    f746.pass_time(2 * BYTE_PS)
    assert bytes(f746.sent) == b"sent by the DMA" and f746.read(ISR) & (TC | TXE) == TC | TXE


def test_a_byte_by_hand_follows_what_the_dma_sends(f746: F746) -> None:
    line(f746)
    f746.chip.core.poke(SENDING, b"abc")
    set_up(f746, 7, SEND, 3, TDR, SENDING)
    f746.write(register(7, "CR"), SEND | 1)
    while f746.read(register(7, "CR")) & 1 or not f746.read(ISR) & TXE:
        f746.pass_time(BYTE_PS // 4)
    f746.write(TDR, ord("d"))
    f746.pass_time(3 * BYTE_PS)
    assert bytes(f746.sent) == b"abcd"


def test_a_stream_starts_again_only_when_its_flags_are_down(f746: F746) -> None:
    line(f746)
    set_up(f746, 7, SEND, 1, TDR, SENDING)
    f746.write(register(7, "CR"), SEND | 1)
    with pytest.raises(ModelFault, match="clear its flags first"):
        f746.write(register(7, "CR"), SEND | 1)
    f746.write(DMA2 + 12, 0x3D << 22)
    f746.write(register(7, "CR"), SEND | 1)
    f746.pass_time(2 * BYTE_PS)
    assert len(f746.sent) == 2


@pytest.mark.parametrize(("control", "size", "peripheral", "address", "message"), [
    (SEND ^ 1 << 25, 4, TDR, SENDING, "channel 5, for which the model has no request"), (SEND, 4, RDR, SENDING, "do not match USART1_TX"),
    (SEND ^ 1 << 6, 4, TDR, SENDING, "do not match USART1_TX"), (SEND ^ 1 << 10, 4, TDR, SENDING, "do not match USART1_TX"),
    (SEND, 0, TDR, SENDING, "for 0 bytes"), (SEND, 4, TDR, 0x2004FFFE, "not memory of the DMA"), (SEND, 4, TDR, 0x100, "not memory of the DMA"),
])  # fmt: skip
def test_a_stream_that_is_set_up_wrongly_does_not_start(
    f746: F746, control: int, size: int, peripheral: int, address: int, message: str
) -> None:
    line(f746)
    set_up(f746, 7, control, size, peripheral, address)
    with pytest.raises(ModelFault, match=message):
        f746.write(register(7, "CR"), control | 1)


@pytest.mark.parametrize(
    ("name", "value"), [("NDTR", 8), ("M0AR", RING), ("PAR", RDR), ("CR", RECEIVE & ~(1 << 8) | 1)]
)
def test_a_running_stream_is_not_set_up(f746: F746, name: str, value: int) -> None:
    line(f746)
    with pytest.raises(ModelFault, match="while the stream is on"):
        f746.write(register(2, name), value)


@pytest.mark.parametrize("bits", [1 << 5, 1 << 9, 1 << 11, 1 << 13, 1 << 18])
def test_what_is_not_modelled_says_so(f746: F746, bits: int) -> None:
    line(f746)
    with pytest.raises(ModelFault, match="which this model does not have"):
        f746.write(register(7, "CR"), SEND | bits)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 9), st.booleans(), st.lists(st.binary(max_size=12), max_size=6), st.booleans(), st.booleans())
def test_a_stream_is_a_ring_or_a_buffer(
    size: int, circular: bool, pieces: list[bytes], half: bool, complete: bool
) -> None:
    """Brute force, byte by byte: contents, place, the number of events, and how far the next one is."""
    events: list[int] = []
    memory = MemoryMap((PhysicalMemory("ram", RING, 64),))
    stream = DmaStream(DmaWindow(memory, "a stream", RING, size), circular, events.append, half, complete)
    ring, place, seen = bytearray(size), 0, 0
    for data in pieces:
        taken = stream.put(data)
        accepted = data if circular else data[: size - place]
        assert taken == len(accepted)
        for byte in accepted:
            ring[place] = byte
            place += 1
            seen += (place == size - size // 2) + (place == size)
            place = 0 if circular and place == size else place
        assert (memory.peek(RING, size), stream.left) == (bytes(ring), size - place)
        assert sum(bin(flags).count("1") for flags in events) == seen
        stops = ({size - size // 2} if half else set()) | ({size} if complete else set())
        steps = [
            n for n in range(1, 2 * size + 1) if (place + n - 1) % size + 1 in stops and (circular or place + n <= size)
        ]
        assert stream.until_interrupt() == min(steps, default=1 << 31)
