"""A session over a network, in simulated time, with the agent's own code at the far end: what it sends again, and how fast it is."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from pathlib import Path as File

import pytest

from hil.errors import Blocked
from hil.link.session import Session
from hil.link.transport import Transport
from tests.built_once import built_once
from tests.faults.lines.network import port_over
from tests.faults.lines.path import Path
from tests.faults.lines.simulated import BITS, Clock, SimulatedPort
from tests.unit.firmware.host_agent import Agent, build

NONCE = 0x12345678
BAUD = 921_600.0
WINDOW = 8064  # of most boards; the agent for this computer has its own
PIXELS = 968  # as the rig sends a network or a large sample
BODIES = [{"slot": slot, "label": slot % 10, "pixels": random.Random(slot).randbytes(PIXELS)} for slot in range(40)]
FRAME = 2 + 2 + PIXELS + 8  # of docs/link.md,
WIRE = FRAME + (FRAME // 254 + 1) + 1  # with COBS
ACK = 2 + 8 + 1 + 1
ROUNDS_S = (0.0, 0.001, 0.02, 0.1)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> File:
    return built_once(tmp_path_factory, "link-program", lambda folder: build(folder, "link", []))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in ("transport", "wire", "xon_xoff"):
        monkeypatch.setattr(f"hil.link.{module}.steady_s", clock.monotonic)
    monkeypatch.setattr("hil.link.wire.time", clock)
    return clock


@pytest.fixture
def agent(program: File) -> Iterator[Agent]:
    agent = Agent(program)
    yield agent
    agent.close()


def ideal_s(round_s: float) -> float:
    """Return how long the stream takes at best: every frame as soon as the window and the line allow."""
    there, back = Path(round_s / 2), Path(round_s / 2)
    free, acked = 0.0, []
    for number in range(len(BODIES)):
        before = number - WINDOW // WIRE
        sent = acked[before] if before >= 0 else 0.0
        free = max(free, there.arrivals(sent, bytes(WIRE))[-1][0]) + WIRE * BITS / BAUD
        acked.append(back.arrivals(free + ACK * BITS / BAUD, bytes(ACK))[-1][0])
    return acked[-1]


def stream(session: Transport, clock: Clock) -> float:
    session._window = WINDOW
    started = clock.now
    session.stream("samples", BODIES)
    return clock.now - started


def executed(port: SimulatedPort) -> list[str]:
    return [event for event in port.events if event.startswith("6 ")]


EXPECTED = [
    f"6 {4 + PIXELS} {zlib.crc32(b['slot'].to_bytes(2, 'little') + b['label'].to_bytes(2, 'little') + b['pixels']):08x}"
    for b in BODIES
]


@pytest.mark.parametrize("round_s", ROUNDS_S)
def test_a_stream_has_nine_tenths_of_the_line_or_of_what_the_path_allows(
    agent: Agent, clock: Clock, round_s: float
) -> None:
    port = port_over(agent, clock, round_s)
    session = Session(port, NONCE)
    session.hello()
    took = stream(session, clock)
    allowed = min(BAUD / BITS, WINDOW / (round_s + WIRE * BITS / BAUD))
    assert len(BODIES) * WIRE / (took - round_s) > 0.9 * allowed, (
        "without the way of the first frame and the last answer"
    )
    assert took < 1.1 * ideal_s(round_s) + 0.05
    assert session.counters.frames_repeated == 0
    assert executed(port) == EXPECTED


@pytest.mark.parametrize("round_s", ROUNDS_S[1:])
def test_lost_segments_cost_their_delay_and_few_repeats(agent: Agent, clock: Clock, round_s: float) -> None:
    """The first retransmissions of TCP teach the session to wait; after that it waits for the others."""
    port = port_over(agent, clock, round_s, loss=0.02, seed=5)
    session = Session(port, NONCE)
    session.hello()
    took, repeated = 0.0, []
    for _ in range(10):
        before = session.counters.frames_repeated
        took += stream(session, clock)
        repeated.append(session.counters.frames_repeated - before)
    lost = port.to_board.path.lost + port.to_host.path.lost
    assert executed(port) == 10 * EXPECTED
    assert lost >= 5, "the test would prove nothing if nothing were lost"
    assert sum(repeated) <= 4 + lost / 2, (repeated, lost)
    assert took < 11 * ideal_s(round_s) + 2.5 * lost + 0.5, (
        "TCP's own time-outs: one second, and twice that if it loses it again"
    )


@pytest.mark.parametrize("round_s", [0.1, 0.4, 1.0])
def test_a_long_way_alone_repeats_nothing_after_the_first_answers(agent: Agent, clock: Clock, round_s: float) -> None:
    port = port_over(agent, clock, round_s, jitter_s=round_s / 20)
    session = Session(port, NONCE)
    session.hello(deadline_s=30.0)
    session.check_line()
    before = session.counters.frames_repeated
    for _ in range(5):
        stream(session, clock)
        session.request("echo", data=b"x")
    assert session.counters.frames_repeated == before
    assert executed(port) == 5 * EXPECTED


@pytest.mark.parametrize(("round_s", "within_s"), [(0.0, 12.0), (0.1, 12.0)])
def test_a_dead_line_is_known_as_soon_as_on_a_local_port(
    agent: Agent, clock: Clock, round_s: float, within_s: float
) -> None:
    port = port_over(agent, clock, round_s)
    session = Session(port, NONCE)
    session.hello()
    stream(session, clock)
    port.to_host._put = lambda data: None
    started = clock.now
    with pytest.raises(Blocked, match="has accepted nothing new"):
        session.stream("samples", BODIES)
    assert clock.now - started < within_s
