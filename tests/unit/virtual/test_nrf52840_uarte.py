"""The UARTE of the virtual nRF52840, and the PPI with which timers count its bytes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.nrf52840.events import Times

from .nrf import OUTSET, P0, PIN_CNF, POWER, PPI, RAM, UARTE, US, Dk, timer

STARTRX, STOPRX, STARTTX, FLUSHRX = (UARTE + i for i in (0x0, 0x4, 0x8, 0x2C))
RXDRDY, ENDRX, ENDTX, ERROR, RXTO, RXSTARTED = (UARTE + i for i in (0x108, 0x110, 0x120, 0x124, 0x144, 0x14C))
SHORTS, ERRORSRC, ENABLE, AMOUNT = (UARTE + i for i in (0x200, 0x480, 0x500, 0x53C))
START, COUNT, CLEAR, CAPTURE, COMPARE, CC = (0x0, 0x8, 0xC, 0x40, 0x140, 0x540)
T_SHORTS, MODE, BITMODE = (0x200, 0x504, 0x508)
BYTE = 10 * US


@pytest.fixture
def dk() -> Dk:
    return Dk()


@pytest.fixture
def uart(dk: Dk) -> Dk:
    dk.start_uarte()
    return dk


def test_a_uarte_needs_pins_and_crystal(dk: Dk) -> None:
    dk.write(UARTE + 0x50C, 0x7FFFFFC6)
    with pytest.raises(ModelFault, match="set OUT and PIN_CNF first"):
        dk.write(ENABLE, 8)
    dk.write(P0 + OUTSET, 1 << 6)
    dk.write(P0 + PIN_CNF + 4 * 6, 3)
    dk.write(ENABLE, 8)
    with pytest.raises(ModelFault, match="start the crystal first"):
        dk.write(STARTTX, 1)
    dk.start_crystal()
    with pytest.raises(ModelFault, match=r"PSEL\.RXD selects no pin"):
        dk.write(STARTRX, 1)
    with pytest.raises(ModelFault, match="EasyDMA can only access the RAM"):
        dk.write(UARTE + 0x544, 0x1000)
        dk.write(UARTE + 0x548, 4)
        dk.write(UARTE + 0x524, 0x10000000)
        dk.write(STARTTX, 1)
    with pytest.raises(ModelFault, match="clear ENABLE first"):
        dk.write(UARTE + 0x50C, 0xFFFFFFFF)


def test_another_baud_rate_than_the_line_s_is_a_fault(uart: Dk) -> None:
    uart.write(UARTE + 0x524, 0x0F000000)  # 921,600, in truth 941,176
    uart.receive_into(RAM, 4)
    uart.write(STARTRX, 1)
    uart.chip.uarte0.feed(b"x")
    with pytest.raises(ModelFault, match="941176 baud, the line at 1000000"):
        uart.wait(BYTE)


def test_bytes_leave_from_ram_one_after_the_other(uart: Dk) -> None:
    uart.chip.core.store(RAM, b"trainrig")
    uart.write(UARTE + 0x544, RAM)
    uart.write(UARTE + 0x548, 8)
    uart.write(STARTTX, 1)
    uart.wait(8 * BYTE - 1)
    assert uart.read(ENDTX) == 0
    uart.wait(1)
    assert uart.read(ENDTX) == 1 and uart.sent == b"trainrig" and uart.read(UARTE + 0x54C) == 8


def test_a_buffer_that_changes_while_it_is_sent_is_a_fault(uart: Dk) -> None:
    uart.write(UARTE + 0x544, RAM)
    uart.write(UARTE + 0x548, 8)
    uart.write(STARTTX, 1)
    with pytest.raises(ModelFault, match="before ENDTX"):
        uart.write(STARTTX, 1)
    uart.chip.core.store(RAM + 7, bytes([uart.chip.core.peek(RAM + 7, 1)[0] ^ 1]))
    with pytest.raises(ModelFault, match="has changed while it was sent"):
        uart.wait(8 * BYTE)


def test_the_receiver_goes_on_by_itself_into_the_buffer_named_meanwhile(uart: Dk) -> None:
    uart.write(SHORTS, 1 << 5)
    uart.receive_into(RAM, 4)
    uart.write(STARTRX, 1)
    assert uart.read(RXSTARTED) == 1
    uart.receive_into(RAM + 0x100, 8)
    uart.chip.uarte0.feed(b"0123456789")
    uart.wait(4 * BYTE)
    assert (uart.read(ENDRX), uart.read(AMOUNT)) == (1, 4)
    uart.wait(6 * BYTE)
    assert uart.chip.core.peek(RAM, 4) == b"0123" and uart.chip.core.peek(RAM + 0x100, 6) == b"456789"


def test_without_the_shortcut_four_bytes_wait_and_the_fifth_is_lost(uart: Dk) -> None:
    uart.receive_into(RAM, 2)
    uart.write(STARTRX, 1)
    uart.chip.uarte0.feed(b"abcdefg")
    uart.wait(6 * BYTE)
    assert uart.read(ERROR) == 0
    uart.wait(BYTE)
    assert (uart.read(ERROR), uart.read(ERRORSRC)) == (1, 1)
    uart.write(ERRORSRC, 1)
    uart.receive_into(RAM + 8, 4)
    uart.write(STARTRX, 1)
    assert uart.read(ERRORSRC) == 0 and uart.chip.core.peek(RAM + 8, 4) == b"cdef"


def test_a_stopped_receiver_is_flushed(uart: Dk) -> None:
    uart.receive_into(RAM, 100)
    uart.write(STARTRX, 1)
    uart.chip.uarte0.feed(b"abcdef" + 20 * b"-")
    uart.wait(3 * BYTE)
    uart.write(STOPRX, 1)
    assert (uart.read(ENDRX), uart.read(AMOUNT), uart.read(RXTO)) == (1, 3, 0)
    with pytest.raises(ModelFault, match="stop and wait for RXTO"):
        uart.write(ENABLE, 0)
    with pytest.raises(ModelFault, match="before RXTO"):
        uart.write(FLUSHRX, 1)
    uart.wait(4 * BYTE)
    assert uart.read(RXTO) == 1
    uart.wait(20 * BYTE)
    uart.write(ENDRX, 0)
    uart.receive_into(RAM + 0x80, 8)
    uart.write(FLUSHRX, 1)
    assert (uart.read(ENDRX), uart.read(AMOUNT)) == (1, 4) and uart.chip.core.peek(RAM + 0x80, 4) == b"def-"
    uart.write(ENABLE, 0)


def connect(dk: Dk, channel: int, event: int, task: int, fork: int = 0) -> None:
    dk.write(PPI + 0x510 + 8 * channel, event)
    dk.write(PPI + 0x514 + 8 * channel, task)
    dk.write(PPI + 0x910 + 4 * channel, fork)
    dk.write(PPI + 0x504, 1 << channel)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.integers(1, 30), st.integers(0, 60)), min_size=1, max_size=8), st.integers(2 * US, 100 * US)
)
def test_bytes_are_counted_and_silences_capture_the_count(bursts: list[tuple[int, int]], piece: int) -> None:
    """Bursts with gaps of so many microseconds behind them: counts captured by a timer of 25 us that each byte restarts.

    The oracle adds up times. How time is cut into pieces, and so how many bytes are taken together, changes nothing.
    """
    dk = Dk()
    dk.start_uarte()
    counter, silence = timer(1), timer(2)
    dk.write(counter + MODE, 2)
    dk.write(counter + BITMODE, 3)
    dk.write(counter + START, 1)
    for register, value in ((BITMODE, 3), (CC, 25), (T_SHORTS, 0x101)):
        dk.write(silence + register, value)
    connect(dk, 0, RXDRDY, counter + COUNT, silence + CLEAR)
    connect(dk, 1, RXDRDY, silence + START)
    connect(dk, 2, silence + COMPARE, counter + CAPTURE)
    captured: list[int] = []
    fire = dk.chip.ppi.fire

    def note(event: int, times: Times) -> None:
        fire(event, times)
        if event == silence + COMPARE:
            captured.append(dk.chip.timers[1].value["CC0"])

    dk.chip.timers[2]._fire = note
    dk.receive_into(RAM, 0x400)
    dk.write(STARTRX, 1)
    expected, total, end = [], 0, dk.chip.clock.now
    for size, gap in bursts:
        dk.chip.uarte0.feed(bytes(size))
        total, end = total + size, dk.chip.clock.now + size * BYTE
        while dk.chip.clock.now < end + gap * US:
            dk.wait(min(piece, end + gap * US - dk.chip.clock.now))
        if gap + 10 >= 25:  # the next byte takes ten more
            expected.append(total)
    dk.wait(25 * US)
    expected += [total] if bursts[-1][1] + 10 < 25 else []
    assert captured == expected
    dk.write(counter + CAPTURE + 4, 1)
    assert dk.read(counter + CC + 4) == total


def test_the_ppi_refuses_what_is_not_there(dk: Dk) -> None:
    with pytest.raises(ModelFault, match="no event or task"):
        connect(dk, 0, 0x40001100, timer(1) + COUNT)
    dk = Dk()
    with pytest.raises(ModelFault, match="fixed channels"):
        dk.write(PPI + 0x504, 1 << 20)
    connect(dk, 3, POWER + 0x100, timer(1) + CC)
    with pytest.raises(ModelFault, match="TIMER1 has no task there"):
        dk.start_crystal()


def test_a_disabled_channel_does_nothing(dk: Dk) -> None:
    t = timer(4)
    dk.write(t + MODE, 2)
    dk.write(t + START, 1)
    connect(dk, 5, POWER + 0x100, t + COUNT)
    dk.write(PPI + 0x508, 1 << 5)
    assert dk.read(PPI + 0x500) == 0
    dk.start_crystal()
    dk.write(t + CAPTURE, 1)
    assert dk.read(t + CC) == 0
