"""How the committed images of rp2040 and rp2350 receive: by the FIFO, stretches of the DMA and an alarm, without loss at the full rate of the line."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rp2_agent import Pico

from hil.link.frames import LinkFrame, parse
from hil.link.messages import decode, description, encode

BYTE_PS = 10 * 10**12 // 921_600
DMA_CTRL = 0x5000_0010
BUSY, ARMED = {"rp2040": 1 << 24, "rp2350": 1 << 26}, {"rp2040": 0x4005_4020, "rp2350": 0x400B_0020}
ECHO = description().requests["echo"]


@pytest.fixture(scope="module", params=["rp2040", "rp2350"])
def board(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def pico(board: str) -> Pico:
    """With the agent greeted; its requests are numbered from 1 on."""
    pico = Pico(board)
    pico.hello()
    pico.sent.clear()
    return pico


class Asker:
    """Asks for echoes, each under the next number."""

    def __init__(self, pico: Pico) -> None:
        self.pico = pico
        self.seq = 0

    def request(self, data: bytes) -> bytes:
        self.seq = (self.seq + 1) & 0xFF
        return LinkFrame(ECHO.id, 0x42, self.seq, encode(ECHO.request, {"data": data})).encode()

    def replies(self) -> list[bytes]:
        frames = [parse(part) for part in bytes(self.pico.sent).split(b"\0") if part]
        self.pico.sent.clear()
        return [bytes(decode(ECHO.reply, frame.body)["data"]) for frame in frames if frame is not None]


@pytest.fixture(scope="module")
def asker(pico: Pico) -> Asker:
    return Asker(pico)


def at_rest(board: str, pico: Pico) -> bool:
    """Whether the FIFO is the core's again and no alarm is to come."""
    return not pico.chip.bus.read(DMA_CTRL, 4) & BUSY[board] and pico.chip.bus.read(ARMED[board], 4) == 0


def run_until(pico: Pico, until: int) -> None:
    """Run, and sleep, up to a virtual time: what comes then may find an alarm that has not rung yet."""
    while pico.chip.clock.now < until:
        event = pico.chip._next_event()
        if pico.chip.asleep and (event is None or event > until):
            pico.chip.clock.sleep_until(until)
        else:
            pico.chip.advance(2000)


def payload(size: int) -> bytes:
    return bytes(i * 7 % 251 + 1 for i in range(size))


@pytest.mark.parametrize(
    "zeros", [*range(40), 63, 64, 65, 111, 112, 113, 128, 239, 240, 241, 495, 496, 497, 1007, 1024, 1100]
)
def test_a_burst_of_any_length_is_heard_to_its_end(board: str, asker: Asker, zeros: int) -> None:
    """Zeros before a request mean nothing (docs/link.md): with them the end of the burst comes to lie anywhere in FIFO and stretches."""
    data = payload(zeros % 5)
    asker.pico.chip.uart0.feed(bytes(zeros) + asker.request(data))
    asker.pico.rest()
    assert asker.replies() == [data]
    assert at_rest(board, asker.pico)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(0, 700), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(1, 900), st.integers(0, 700)), max_size=6),
)
def test_silences_anywhere_lose_nothing(
    board: str, asker: Asker, sizes: list[int], cuts: list[tuple[int, int]]
) -> None:
    """Requests in pieces, with silences of up to 700 byte times between: all are answered, in order."""
    sent = [payload(size) for size in sizes]
    for data in sent:
        line = asker.request(data)
        for length, silence in (*cuts, (len(line), 0)):
            piece, line = line[:length], line[length:]
            asker.pico.chip.uart0.feed(piece)
            until = asker.pico.chip.clock.now + (len(piece) + silence) * BYTE_PS
            run_until(asker.pico, until)
        asker.pico.rest()
    assert asker.replies() == sent
    assert at_rest(board, asker.pico)


def test_a_stream_at_the_full_rate_wakes_the_core_a_few_times_a_kilobyte(asker: Asker) -> None:
    """2 KB of zeros and a request of 1 KB: 16 bytes in the FIFO, stretches of 32, 64, 128, 256, then 512, and an end; the FIFO alone takes 190."""
    pico, data = asker.pico, payload(1000)
    before = len(pico.chip.clock.sleeps)
    pico.chip.uart0.feed(bytes(2048) + asker.request(data))
    while pico.chip.uart0.backlog:
        pico.chip.advance(10_000)
    woken = len(pico.chip.clock.sleeps) - before
    pico.rest()
    assert woken <= 12
    assert asker.replies() == [data]


def test_a_window_of_requests_without_a_gap_is_answered(asker: Asker) -> None:
    sent = [payload(size) for size in (900, 3, 0, 611, 512, 77, 1000)]
    asker.pico.chip.uart0.feed(b"".join(asker.request(data) for data in sent))
    asker.pico.rest()
    assert asker.replies() == sent
