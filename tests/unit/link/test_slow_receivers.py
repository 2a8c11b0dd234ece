"""Receivers that are slower than the host repeats frames, in simulated time, with the agent's own code: the host backs off."""

from __future__ import annotations

import itertools
import random
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from hil.link.failures import Silent
from hil.link.flow_control import BACK_OFF_S, REPEAT_AFTER_S
from hil.link.session import Session
from tests.built_once import built_once
from tests.faults.lines.harm import Cut
from tests.faults.lines.simulated import BITS, READ_TIMEOUT_S, Clock, Direction, SimulatedPort
from tests.unit.firmware.host_agent import Agent, build

NONCE = 0x12345678
BODIES = [{"slot": slot, "label": slot % 10, "pixels": random.Random(slot).randbytes(968)} for slot in range(24)]
EXECUTED = [
    f"6 {4 + 968} {zlib.crc32(b['slot'].to_bytes(2, 'little') + b['label'].to_bytes(2, 'little') + b['pixels']):08x}"
    for b in BODIES
]


class UntilEmpty(Direction):
    """A receiver that passes bytes to the agent only when no more are waiting, as an interrupt handler in a loop."""

    def arrived(self) -> bytes:
        return super().arrived() if self._free_at <= self.clock.now else b""


class ByFrame(Direction):
    """A receiver that needs `frame_s` seconds for a frame of any length."""

    frame_s = 1.0

    def _put(self, data: bytes) -> None:
        for part in data.split(b"\0")[:-1]:
            self._free_at = max(self._free_at, self.clock.now) + self.frame_s
            self._queue.append((self._free_at, part + b"\0"))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_once(tmp_path_factory, "link-program", lambda folder: build(folder, "link", []))


@pytest.fixture
def agent(program: Path) -> Iterator[Agent]:
    agent = Agent(program)
    yield agent
    agent.close()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in ("transport", "wire", "xon_xoff"):
        monkeypatch.setattr(f"hil.link.{module}.steady_s", clock.monotonic)
    monkeypatch.setattr("hil.link.wire.time", clock)
    return clock


def repeats(agent: Agent, clock: Clock, baud: float = 921_600.0) -> list[float]:
    """Let the board fall silent after some exchanges; return the seconds from each frame to its repeat."""
    port = SimulatedPort(agent, clock, Direction(clock, baud=baud), Direction(clock, baud=baud))
    session = Session(port, NONCE)
    session.hello()
    for number in range(20):
        session.request("echo", data=bytes(number))
    port.to_board.harms = [Cut(0)]
    sent: list[float] = []
    write = port.write
    port.write = lambda data: (sent.append(clock.now), write(data))[1]  # type: ignore[method-assign]
    with pytest.raises(Silent):
        session.request("echo", data=b"x")
    return [after - before for before, after in itertools.pairwise(sent)]


def test_every_time_out_doubles_the_wait_up_to_a_limit(agent: Agent, clock: Clock) -> None:
    first, second, *more, _ = repeats(agent, clock)  # the last one is the greeting before the host gives up
    assert first == pytest.approx(REPEAT_AFTER_S, abs=2 * READ_TIMEOUT_S)
    assert second == pytest.approx(2 * REPEAT_AFTER_S, abs=2 * READ_TIMEOUT_S)
    assert all(wait <= BACK_OFF_S + 2 * READ_TIMEOUT_S for wait in more)
    assert more[0] == pytest.approx(BACK_OFF_S, abs=2 * READ_TIMEOUT_S)


@pytest.mark.parametrize("bytes_per_s", [2_000, 2_500, 3_000])
def test_a_receiver_that_answers_only_when_nothing_more_comes(agent: Agent, clock: Clock, bytes_per_s: int) -> None:
    """A frame of 985 bytes every 0.3 s is more than it can take: without the longer waits it never gets to the end."""
    assert bytes_per_s < 985 / REPEAT_AFTER_S
    port = SimulatedPort(agent, clock, UntilEmpty(clock, baud=BITS * bytes_per_s), Direction(clock))
    session = Session(port, NONCE)
    session.hello()
    session._window = 3968
    session.stream("samples", BODIES)
    assert [event for event in port.events if event.startswith("6 ")] == EXECUTED


def test_a_receiver_that_needs_longer_than_the_time_out_for_a_frame(agent: Agent, clock: Clock) -> None:
    port = SimulatedPort(agent, clock, ByFrame(clock), Direction(clock))
    session = Session(port, NONCE)
    session.hello()
    session.check_line()
    session.stream("samples", BODIES)
    assert [event for event in port.events if event.startswith("6 ")] == EXECUTED
    before = session.counters.frames_repeated
    session.stream("samples", BODIES)
    assert session.counters.frames_repeated - before < len(BODIES) / 4, "it has learnt the time of the receiver"
