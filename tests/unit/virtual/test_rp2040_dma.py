"""The virtual RP2040's DMA behind UART0: what the ring receives, when the core hears of it, what must not be set up, and the register map."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.registers import Register
from hil.standins.virtual.chip.rp2 import pl011 as u

from . import rp2040_dma_registers as header
from .pico import Pico, behind_start, image

RESETS, UART, DMA = 0x4000C000, 0x40034000, 0x50000000
DR, FR, IFLS, IMSC, RIS, MIS, DMACR = (UART + i for i in (0, 0x18, 0x34, 0x38, 0x3C, 0x40, 0x48))
WRITE_ADDR, CTRL, START = DMA + 4, DMA + 0x10, DMA + 0x1C  # of channel 0; CTRL without and TRANS_COUNT with a trigger
INTR, INTE0, INTS0, INTE1, ABORT = (DMA + i for i in (0x400, 0x404, 0x40C, 0x414, 0x444))
SET, CLR = 0x2000, 0x3000
RX_REQUEST, RING_SEL, INCR_WRITE, EN, QUIET, BUSY = 21 << 15, 1 << 10, 1 << 5, 1, 1 << 21, 1 << 24
RECEIVE = RX_REQUEST | RING_SEL | INCR_WRITE | EN
RING = 0x20004000
BYTE_PS = 10 * 10**12 // 921600


def set_up(size_log2: int = 6, control: int = RECEIVE) -> Pico:
    """UART0 runs and asks for its bytes to be fetched, channel 0 is ready to bring them into a ring."""
    pico = Pico()
    pico.load(image(behind_start(b"\x30\xbf")))
    pico.run()
    pico.write(RESETS + CLR, 1 << 2)
    pico.write(IFLS, 2 << 3)
    pico.write(IMSC, u.RX | u.RT)
    pico.write(DMA, DR)
    pico.write(WRITE_ADDR, RING)
    pico.write(CTRL, control | size_log2 << 6)
    pico.write(DMACR, u.RXDMAE)
    return pico


@pytest.fixture
def pico() -> Pico:
    return set_up()


def pass_time(pico: Pico, ps: int) -> None:
    pico.wait(ps)
    pico.chip.uart0.update(pico.chip.clock.now)


def waiting(pico: Pico, irq: int) -> bool:
    return bool(pico.chip.nvic.lines >> 16 + irq & 1)


# what comes where


def test_bytes_go_past_the_fifo_until_the_channel_has_its_count(pico: Pico) -> None:
    pico.write(START, 20)
    start = pico.chip.clock.now
    pico.chip.uart0.feed(bytes(range(60)))
    assert pico.chip.uart0.next_event() == start + 36 * BYTE_PS  # 20 for the channel, 16 for the FIFO
    pass_time(pico, 20 * BYTE_PS - 1)
    assert (pico.read(START), pico.read(WRITE_ADDR)) == (1, RING + 19) and pico.read(CTRL) & BUSY
    assert pico.read(FR) & u.RXFE and pico.read(RIS) & (u.RX | u.RT) == 0
    pass_time(pico, 1)
    assert (pico.read(START), pico.read(CTRL) & BUSY) == (0, 0) and pico.read(DMA + 0x804) == 20
    pass_time(pico, 16 * BYTE_PS)
    assert pico.read(MIS) == u.RX and waiting(pico, 20)
    pico.write(START, 44)  # takes the 16 at once, and the interrupt goes
    assert pico.read(MIS) == 0 and pico.read(WRITE_ADDR) == RING + 36
    pass_time(pico, 40 * BYTE_PS)
    assert pico.chip.core.peek(RING, 60) == bytes(range(60))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 90), min_size=1, max_size=8), st.integers(4, 6), st.integers(1, 70))
def test_the_ring_holds_what_came_and_the_fifo_the_rest(lengths: list[int], size_log2: int, count: int) -> None:
    """An oracle of one list: the first `count` bytes go round the ring, up to 32 wait in the FIFO, the others are lost."""
    pico, size = set_up(size_log2), 1 << size_log2
    pico.chip.core.poke(RING, bytes(size))
    pico.write(START, count)
    came = b""
    for i, length in enumerate(lengths):
        data = bytes((i * 37 + k) & 0xFF for k in range(length))
        pico.chip.uart0.feed(data)
        while pico.chip.uart0.backlog:
            event = pico.chip.uart0.next_event()
            assert event is not None
            pass_time(pico, event - pico.chip.clock.now)
        came += data
    expected = bytearray(size)
    for k, byte in enumerate(came[:count]):
        expected[k % size] = byte
    assert pico.chip.core.peek(RING, size) == bytes(expected)
    assert pico.read(WRITE_ADDR) == RING + min(len(came), count) % size
    pico.write(ABORT, 1)
    rest = came[count:]
    assert bytes(pico.read(DR) & 0xFF for _ in range(min(len(rest), 32))) == rest[:32]
    assert pico.read(FR) & u.RXFE and bool(pico.read(RIS) & u.OE) == (len(rest) > 32)


def test_only_what_waits_in_the_fifo_makes_a_silence_heard(pico: Pico) -> None:
    pico.write(START, 8)
    pico.chip.uart0.feed(bytes(8))
    pass_time(pico, 50 * BYTE_PS)
    assert pico.read(RIS) & u.RT == 0  # all was fetched: the receive time-out asks for a byte in the FIFO
    pico.chip.uart0.feed(bytes(3))
    pass_time(pico, 3 * BYTE_PS)
    assert pico.read(RIS) & u.RT == 0
    pass_time(pico, 4 * BYTE_PS)
    assert pico.read(MIS) == u.RT and waiting(pico, 20)


def test_an_abort_leaves_what_has_come_and_what_waits(pico: Pico) -> None:
    pico.write(START, 40)
    pico.chip.uart0.feed(bytes(range(10)))
    pass_time(pico, 10 * BYTE_PS)
    pico.write(ABORT, 1)
    assert pico.read(ABORT) == 0 and not pico.read(CTRL) & BUSY and pico.read(WRITE_ADDR) == RING + 10
    pico.chip.uart0.feed(b"xy")
    pass_time(pico, 2 * BYTE_PS)
    assert pico.read(DR) == ord("x") and pico.read(WRITE_ADDR) == RING + 10


def test_a_paused_channel_and_an_unwilling_uart_leave_bytes_in_the_fifo(pico: Pico) -> None:
    for stop, go in (((CTRL + CLR, EN), (CTRL + SET, EN)), ((DMACR, 0), (DMACR, u.RXDMAE))):
        pico.write(START, 2)
        before = pico.read(WRITE_ADDR)
        pico.write(*stop)
        pico.chip.uart0.feed(b"ab")
        pass_time(pico, 2 * BYTE_PS)
        assert not pico.read(FR) & u.RXFE and pico.read(CTRL) & BUSY
        pico.write(*go)
        assert pico.read(FR) & u.RXFE and not pico.read(CTRL) & BUSY
        assert pico.chip.core.peek(before, 2) == b"ab"


def test_an_end_interrupts_where_it_is_asked_to(pico: Pico) -> None:
    for enable, irq in ((INTE0, 11), (INTE1, 12)):
        pico.write(enable, 1)
        pico.write(START, 4)
        start = pico.chip.clock.now
        pico.chip.uart0.feed(bytes(10))
        assert pico.chip.uart0.next_event() == start + 4 * BYTE_PS
        pass_time(pico, 12 * BYTE_PS)
        assert waiting(pico, irq) and pico.read(INTR) == pico.read(enable + 8) == 1
        pico.write(enable + 8, 1)
        assert not waiting(pico, irq) and pico.read(INTR) == 0
        pico.write(enable, 0)
        pico.write(START, 6)
        pico.write(INTR, 1)


def test_a_quiet_channel_interrupts_on_a_null_trigger_only() -> None:
    pico = set_up(control=RECEIVE | QUIET)
    pico.write(INTE0, 1)
    pico.write(START, 2)
    pico.chip.uart0.feed(bytes(2))
    pass_time(pico, 3 * BYTE_PS)
    assert pico.read(INTS0) == 0
    pico.write(START, 0)
    assert pico.read(INTS0) == 1 and waiting(pico, 11) and not pico.read(CTRL) & BUSY


# what must not be done


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({CTRL: RECEIVE & ~(63 << 15) | 63 << 15}, "request 63, which this model does not have"),
        ({CTRL: RECEIVE | 1 << 2}, "not to move bytes from 0x40034000"),
        ({CTRL: RECEIVE | 1 << 4}, "not to move bytes"),
        ({CTRL: RECEIVE & ~INCR_WRITE}, "not to move bytes"),
        ({DMA: FR}, "not to move bytes"),
        ({CTRL: RECEIVE | 3 << 11}, "a chain to another channel"),
        ({CTRL: RECEIVE & ~RING_SEL | 6 << 6}, "a ring of the register"),
        ({CTRL: RECEIVE, WRITE_ADDR: 0x20041FFC}, "0x20041FFC, where the chip has no memory"),
        ({CTRL: RECEIVE, WRITE_ADDR: 0x10000000}, "where the chip has no memory"),
        ({CTRL: RECEIVE | 1 << 23}, "sets SNIFF_EN, which this model does not have"),
        ({CTRL: RECEIVE | 1 << 25}, "changes reserved bits 0x02000000"),
        ({DMA + 0x430: 1 << 16}, "changes reserved bits"),
        ({DMA + 0x420: 1}, "sets Y, which this model does not have"),
        ({DMA + 0x300: 0}, "DMA has no register there"),
    ],
)
def test_what_would_not_work_faults(pico: Pico, changes: dict[int, int], message: str) -> None:
    with pytest.raises(ModelFault, match=message):
        for address, value in changes.items():
            pico.write(address, value)
        pico.write(START, 16)


def test_one_hand_at_a_time(pico: Pico) -> None:
    pico.write(START, 16)
    with pytest.raises(ModelFault, match="UART0_DR is read while a DMA channel serves it"):
        pico.read(DR)
    with pytest.raises(ModelFault, match="DMA_CH0_WRITE_ADDR changes while the channel is busy"):
        pico.write(WRITE_ADDR, RING + 1)
    pico.write(DMA + 0x40, DR)
    pico.write(DMA + 0x44, RING)
    pico.write(DMA + 0x50, RECEIVE | 1 << 11)
    with pytest.raises(ModelFault, match="UART0_RX, which another channel serves already"):
        pico.write(DMA + 0x5C, 16)


def test_a_second_trigger_does_nothing(pico: Pico) -> None:
    pico.write(START, 16)
    pico.write(START, 9)
    pico.write(DMA + 0x430, 1)
    assert pico.read(START) == 16 and pico.read(DMA + 0x804) == 9
    pico.write(ABORT, 1)
    pico.write(CTRL + CLR, EN)
    pico.write(START, 5)  # off: it is not started
    assert not pico.read(CTRL) & BUSY
    pico.write(CTRL + SET, EN)
    pico.write(DMA + 0x430, 1)
    assert pico.read(START) == 5


def test_a_reset_forgets_the_channels(pico: Pico) -> None:
    pico.write(INTE0, 1)
    pico.write(START, 16)
    pico.write(RESETS + SET, 1 << 2)
    pico.chip.uart0.feed(b"x")
    pass_time(pico, 2 * BYTE_PS)
    assert not pico.read(FR) & u.RXFE
    with pytest.raises(ModelFault, match=r"clear RESETS_RESET\.DMA first"):
        pico.read(CTRL)
    pico.write(RESETS + CLR, 1 << 2)
    assert pico.read(CTRL) == pico.read(WRITE_ADDR) == pico.read(INTE0) == 0


# the map


def known(registers: tuple[Register, ...]) -> dict[int, tuple[int, int]]:
    return {one.offset: (one.reserved ^ 0xFFFFFFFF, one.reset) for one in registers}


def test_the_registers_are_those_of_the_header(pico: Pico) -> None:
    expected = {offset: rest for offset, *rest in header.SHARED.values()}
    for n in range(header.CHANNELS):
        for offset, *rest in (*header.CHANNEL.values(), *header.DEBUG.values()):
            expected[offset + 0x40 * n] = rest
    assert known(pico.chip.dma.REGISTERS) == {offset: tuple(rest) for offset, rest in expected.items()}


@pytest.mark.parametrize("channel", [0, 5, 11])
def test_the_aliases_are_those_of_the_header(pico: Pico, channel: int) -> None:
    at = DMA + 0x40 * channel
    values = {"READ_ADDR": DR, "WRITE_ADDR": RING + 3, "TRANS_COUNT": 7, "CTRL_TRIG": RECEIVE & ~EN | channel << 11}
    for alias, (offset, name) in header.ALIASES.items():
        pico.write(at + offset, values[name])
        place = at + (header.DEBUG["DBG_TCR"][0] if name == "TRANS_COUNT" else header.CHANNEL[name][0])
        assert pico.read(place) == values[name], alias
        values[name] ^= 1 << 1 if name == "CTRL_TRIG" else 1 << 4


@pytest.mark.parametrize("trigger", ["CTRL_TRIG", "AL1_TRANS_COUNT_TRIG", "AL2_WRITE_ADDR_TRIG", "AL3_READ_ADDR_TRIG"])
def test_the_last_word_of_each_alias_starts_the_channel(pico: Pico, trigger: str) -> None:
    """And no other word does."""
    places = {name: offset for name, (offset, *_) in (header.CHANNEL | header.ALIASES).items()}
    values = {"READ_ADDR": DR, "WRITE_ADDR": RING, "TRANS_COUNT": 7, "CTRL": RECEIVE}
    for name, offset in places.items():
        if not name.endswith("TRIG"):
            pico.write(DMA + offset, values[name.split("_", 1)[1] if name.startswith("AL") else name])
            assert not pico.read(CTRL) & BUSY, name
    pico.write(
        DMA + places[trigger],
        values[trigger.removesuffix("_TRIG").split("_", 1)[1] if trigger.startswith("AL") else "CTRL"],
    )
    assert pico.read(CTRL) & BUSY and pico.read(START) == 7
