"""A session on lines that do everything to its bytes, with the agent's own code at their other end: it ends, in order or in a sentence, and floods nothing."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from hil.errors import Blocked
from hil.link.failures import Silent
from hil.link.session import EVERY_BYTE, Session
from tests.built_once import built_once
from tests.faults.lines.harm import (
    ACK,
    NAK,
    Chatter,
    Cut,
    Echoes,
    Flip,
    Gibberish,
    Harm,
    LongPieces,
    Lose,
    Only,
    Swallow,
)
from tests.faults.lines.simulated import Clock, Direction, SimulatedPort
from tests.unit.firmware.host_agent import Agent, build

NONCE = 0x12345678
XON_XOFF = b"\x11\x13"
LONGEST_S = 60.0  # simulated, from the last byte that told something new
BODIES = [{"slot": slot, "label": slot % 10, "pixels": random.Random(slot).randbytes(784)} for slot in range(40)]
FRAME = 810  # bytes of one of them on the wire, about


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_once(tmp_path_factory, "link-program", lambda folder: build(folder, "link", []))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in ("transport", "wire", "xon_xoff"):
        monkeypatch.setattr(f"hil.link.{module}.steady_s", clock.monotonic)
    monkeypatch.setattr("hil.link.wire.time", clock)
    return clock


class Lines:
    """Makes lines, each with an agent of its own at the other end."""

    def __init__(self, program: Path, clock: Clock) -> None:
        self._program, self._clock = program, clock
        self._agents: list[Agent] = []

    def __call__(
        self, to_board: Sequence[Harm] = (), to_host: Sequence[Harm] = (), baud: float = 921_600.0
    ) -> SimulatedPort:
        return SimulatedPort(
            self.agent(), self._clock, Direction(self._clock, to_board, baud), Direction(self._clock, to_host, baud)
        )

    def agent(self) -> Agent:
        """Return one as after reset."""
        self._agents.append(Agent(self._program))
        return self._agents[-1]

    def close(self) -> None:
        for agent in self._agents:
            agent.close()


@pytest.fixture
def line(program: Path, clock: Clock) -> Iterator[Lines]:
    lines = Lines(program, clock)
    yield lines
    lines.close()


def executed(bodies: list[dict[str, object]]) -> list[str]:
    """Return what the agent writes down of a stream of samples."""
    packed = [
        body["slot"].to_bytes(2, "little") + body["label"].to_bytes(2, "little") + body["pixels"] for body in bodies
    ]
    return [f"6 {len(body)} {zlib.crc32(body):08x}" for body in packed]


def samples_of(port: SimulatedPort) -> list[str]:
    return [event for event in port.events if event.startswith("6 ")]


def ends(session: Session, clock: Clock) -> BaseException | None:
    """Greet, stream and ask; return the error that it ends in. No hang: within the time."""
    started = clock.now
    error = None
    try:
        session.hello()
        session.stream("samples", BODIES)
        session.request("echo", data=b"over")
    except Blocked as blocked:
        error = blocked
    assert clock.now - started < LONGEST_S
    return error


@pytest.mark.parametrize(
    ("direction", "points"), [("to_board", (0, 7, 300, 5_000, 20_000)), ("to_host", (0, 7, 70, 100, 300))]
)
def test_a_direction_that_is_cut_ends_in_silence(line, clock, direction, points):
    for after in points:
        port = line(**{direction: [Cut(after)]})
        error = ends(Session(port, NONCE), clock)
        assert isinstance(error, Silent), (after, error)
        assert samples_of(port) == executed(BODIES)[: len(samples_of(port))]
        assert port.to_board.sent < 2 * 40 * FRAME


@pytest.mark.parametrize("kind", [ACK, NAK])
def test_endless_answers_without_news_are_no_progress(line, clock, kind):
    port = line(to_host=[Only(kind, after=6)])
    session = Session(port, NONCE)
    error = ends(session, clock)
    assert isinstance(error, Silent) and "undamaged frames were received" in str(error), error
    assert ("requested a repeat" if kind == NAK else "acknowledged nothing new") in str(error)
    assert samples_of(port) == executed(BODIES)[: len(samples_of(port))]
    assert port.to_board.sent < 40 * 5 * FRAME, "the line is not flooded"


@pytest.mark.parametrize("kind", [ACK, NAK])
def test_a_single_request_ends_too(line, clock, kind):
    session = Session(port := line(to_host=[Only(kind, after=1)]), NONCE)
    session.hello()
    started = clock.now
    with pytest.raises(Silent, match="did not answer 'echo'"):
        session.request("echo", data=bytes(1000))
    assert clock.now - started < 20.0 and port.to_board.sent < 100 * 1024


def test_an_old_nak_for_ever_is_no_reset_of_the_board(line, clock):
    """The last honest frame is the ack of a step; the naks that follow expect the first request, as a board does that was reset."""
    session = Session(line(to_host=[Only(NAK, after=3)]), NONCE)
    session.hello()
    session.request("echo", data=b"x")
    with pytest.raises(Silent, match="did not answer 'step'"):
        session.request("step", 60.0, step=0, count=8)


def test_old_frames_again_and_again_are_no_progress(line, clock):
    port = line(to_host=[Echoes(after=120)])
    assert isinstance(ends(Session(port, NONCE), clock), Silent)
    assert port.to_board.sent < 40 * 5 * FRAME


def test_log_noise_is_no_progress_and_no_harm(line, clock):
    port = line(to_host=[Chatter()])
    assert ends(Session(port, NONCE), clock) is None
    assert samples_of(port) == executed(BODIES)
    deaf = line(to_host=[Chatter(), Cut(2000)], to_board=[Cut(3000)])
    assert isinstance(ends(Session(deaf, NONCE), clock), Silent)


@pytest.mark.parametrize("seed", range(3))
def test_a_hundredth_of_all_bits_flipped_ends(line, clock, seed):
    rng = random.Random(seed)
    port = line(to_board=[Flip(1e-2, rng)], to_host=[Flip(1e-2, rng)])
    assert isinstance(ends(Session(port, NONCE), clock), Silent)
    assert port.to_board.sent < 10**6


@pytest.mark.parametrize("seed", range(6))
def test_once_and_in_order_on_a_line_that_is_bad_but_not_too_bad(line, clock, seed):
    rng = random.Random(seed)
    port = line(to_board=[Flip(2e-5, rng), Lose(1e-5, rng)], to_host=[Flip(2e-4, rng)])
    session = Session(port, NONCE)
    assert ends(session, clock) is None
    assert samples_of(port) == executed(BODIES)
    assert session.counters.frames_repeated > 0, "nothing was bad about it"


@pytest.mark.parametrize("baud", [9_600, 115_200])
def test_a_slow_line_is_not_flooded(line, clock, baud):
    """9,600 baud under an adapter that was told 921,600: everything arrives, a hundred times as late."""
    port = line(baud=baud)
    session = Session(port, NONCE)
    session.hello()
    session.check_line()
    session.stream("samples", BODIES)
    assert samples_of(port) == executed(BODIES)
    repeated = session.counters.frames_repeated
    assert repeated <= 12, session.counters
    session.stream("samples", BODIES)
    assert session.counters.frames_repeated == repeated, "it has learnt"


def test_a_fast_line_stays_fast_after_a_slow_moment(line, clock):
    port = line(baud=9_600)
    session = Session(port, NONCE)
    session.hello()
    session.stream("samples", BODIES[:8])
    port.to_board.baud = port.to_host.baud = 921_600.0
    session.stream("samples", BODIES * 4)
    port.to_board.harms = [Cut(0)]
    started = clock.now
    with pytest.raises(Silent):
        session.request("echo", data=b"x")
    assert clock.now - started < 15.0


@pytest.mark.parametrize("values", [b"\x11", b"\x13", XON_XOFF])
@pytest.mark.parametrize("directions", [("to_board",), ("to_host",), ("to_board", "to_host")])
def test_swallowed_flow_control_is_named(line, clock, values, directions):
    names = {0x11: "0x11 (XON)", 0x13: "0x13 (XOFF)"}
    named = " and ".join(names[value] for value in values)
    for nonce in (NONCE, 0x11111111, 0x13):
        port = line(**{direction: [Swallow(values)] for direction in directions})
        session = Session(port, nonce)
        started = clock.now
        with pytest.raises(Blocked) as blocked:
            session.hello()
            session.check_line()
        assert f"the line removes the bytes {named}" in str(blocked.value), str(blocked.value)
        assert clock.now - started < LONGEST_S and port.to_board.sent < 20_000


def test_other_trouble_is_not_taken_for_flow_control(line, clock):
    for seed in range(5):
        rng = random.Random(seed)
        session = Session(line(to_board=[Flip(1e-2, rng)], to_host=[Flip(1e-2, rng)]), NONCE)
        with pytest.raises(Silent):
            session.hello()
            session.check_line()


@pytest.mark.parametrize("every", [30, 50, 80])
def test_a_line_that_loses_any_byte_is_not_taken_for_flow_control(line, clock, every):
    """By chance the lost byte is such a one, and by chance only greetings without one are answered."""
    for seed in range(40):
        rng = random.Random(seed)
        harms = {direction: [Lose(1 / every, rng)] for direction in ("to_board", "to_host")}
        session = Session(line(**harms), rng.getrandbits(32))
        try:
            session.hello()
            session.check_line()
        except Silent:
            continue


class MostOnTheLine(Harm):
    """Notes the longest piece that was sent, and harms none."""

    longest = 0

    def through(self, data):
        self.longest = max(self.longest, len(data))
        return data


def pieces_of(session, bodies):
    block = session.block(968)
    for body in bodies:
        for at in range(0, len(body["pixels"]), block):
            yield {
                "slot": body["slot"],
                "label": body["label"],
                "offset": at,
                "pixels": body["pixels"][at : at + block],
            }


@pytest.mark.parametrize("seed", range(5))
def test_a_line_that_damages_long_pieces_is_used_with_short_ones(line, clock, seed):
    seen = MostOnTheLine()
    port = line(to_board=[seen, LongPieces(64, random.Random(seed))])
    session, started = Session(port, NONCE), clock.now
    session.hello()
    session.check_line()
    assert session.short_frames and session.nonce != NONCE and clock.now - started < LONGEST_S
    seen.longest, repeated, events = 0, session.counters.frames_repeated, len(port.events)
    session.check_line()  # as each trial of a session does
    session.stream("sample_part", pieces_of(session, BODIES[:4]))
    assert seen.longest <= 64 and session.counters.frames_repeated == repeated
    parts = [event for event in port.events[events:] if event.startswith("22 ")]
    assert len(parts) == len(list(pieces_of(session, BODIES[:4])))


def test_a_good_line_and_one_that_is_merely_bad_keep_long_frames(line):
    for harms in ([], [Flip(1e-4, random.Random(1))]):
        session = Session(line(to_board=harms, to_host=harms), NONCE)
        session.hello()
        session.check_line()
        assert not session.short_frames and session.block(968) == 968


def test_every_value_crosses_a_good_line(line):
    port = line()
    session = Session(port, NONCE)
    session.hello()
    session.check_line()
    assert session.counters.frames_repeated == 0
    assert f"12 256 {zlib.crc32(EVERY_BYTE):08x}" in port.events


def test_gibberish_of_another_speed_is_named(line, clock):
    rng = random.Random(1)
    with pytest.raises(Silent, match="but no undamaged frame"):
        Session(line(to_board=[Gibberish(rng)], to_host=[Gibberish(rng), Chatter(b"x\0")]), NONCE).hello()


@pytest.mark.parametrize("left", [b"", b"\x17\x8c\x22"], ids=["", "in the middle of a reply"])
@pytest.mark.parametrize("point", ["stream", "request"])
def test_a_board_that_begins_anew_is_named(line, clock, point, left):
    """What it had sent of a reply has no end: the first frame after it, the greeting's reply, is a part of that."""
    port = line()
    session = Session(port, NONCE)
    session.hello()
    session.request("echo", data=b"1")
    session.stream("samples", BODIES[:3])
    port.to_host.send(left)
    port.agent = line.agent()
    with pytest.raises(Blocked, match="the board was reset: it has forgotten the session"):
        session.stream("samples", BODIES) if point == "stream" else session.request("echo", data=b"2")
    assert samples_of(port) == executed(BODIES[:3]), "the fresh agent has done nothing of it"


@pytest.mark.parametrize("tail", [b"", b"tail of a frame\0"], ids=["", "in the middle of a request"])
@pytest.mark.parametrize("nonce", [NONCE, NONCE & ~0xFF], ids=["", "session 0"])
@pytest.mark.parametrize("windowed", [False, True], ids=["", "windowed"])
def test_a_board_that_begins_anew_right_after_the_greeting_is_named(line, clock, tail, nonce, windowed):
    """Where power came back in the middle of a request the fresh agent asks for that again, in no session."""
    port = line()
    session = Session(port, nonce)
    session.hello()
    port.agent = line.agent()
    port.to_board.send(tail)
    with pytest.raises(Blocked, match="the board was reset: it has forgotten the session"):
        session.stream("samples", BODIES) if windowed else session.check_line()


@pytest.mark.parametrize("side", ["to_board", "to_host"])
def test_a_line_that_is_cut_right_after_the_greeting_is_no_board_that_begins_anew(line, clock, side):
    port = line()
    session = Session(port, NONCE)
    session.hello()
    getattr(port, side).harms = [Cut(0)]
    with pytest.raises(Silent, match="did not answer 'echo'"):
        session.check_line()
