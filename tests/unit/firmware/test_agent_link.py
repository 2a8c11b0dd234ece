"""The agent's link code against a model of docs/link.md, and exactly-once execution over a bad line."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest
from agent_link_model import IDS, LONG, MESSAGES, WINDOWED, AgentModel, Frame, decode, frames, hello
from cobs import cobs
from host_agent import Agent
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

REQUESTS = sorted(request.id for request in MESSAGES.requests.values() if request.name != "hello")
BODIES = st.one_of(
    st.binary(max_size=40),
    st.binary(max_size=30).map(lambda tail: b"\xee" + tail),
    st.sampled_from([b"\0" * 300, bytes(range(1, 255)), bytes(range(1, 256)), b"\x01" * 254 + b"\0", b"\xaa" * 1024]),
)
FAST = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def compare(agent: Agent, model: AgentModel, stream: bytes) -> None:
    """Give the same bytes to both and demand the same answers and events."""
    seen = len(model.events)
    expected = [answer for part in stream.split(b"\0")[:-1] if part for answer in model.receive(decode(part))]
    sent, events = agent.receive(stream)
    assert frames(sent) == expected
    assert events == model.events[seen:]


@pytest.mark.parametrize("length", [0, 1, 253, 254, 255, 256, 507, 508, 509, 1023, 1024])
@pytest.mark.parametrize("fill", [0, 1, 255])
def test_every_length_comes_back_as_it_was(agent: Agent, length: int, fill: int) -> None:
    agent.receive(hello(7).encoded())
    body = bytes([fill]) * length
    sent, _ = agent.receive(Frame(IDS["echo"], 7, 1, body).encoded())
    assert frames(sent) == [Frame(IDS["echo"] | 0x80, 7, 1, body)]


def test_a_frame_longer_than_the_longest_is_refused_and_the_next_is_taken(agent: Agent) -> None:
    model = AgentModel()
    compare(agent, model, hello(9).encoded())
    compare(agent, model, Frame(IDS["echo"], 9, 1, b"\x05" * 1025).encoded())
    compare(agent, model, Frame(IDS["echo"], 9, 1, b"\x05" * 5000).encoded())
    compare(agent, model, Frame(IDS["echo"], 9, 1, b"\x05" * 1024).encoded())
    assert len(model.events) == 2


def test_a_longest_frame_with_more_behind_its_crc_is_refused(agent: Agent) -> None:
    model = AgentModel()
    compare(agent, model, hello(9).encoded())
    whole = cobs.decode(Frame(IDS["echo"], 9, 1, b"\x05" * 1024).encoded()[:-1])
    compare(agent, model, cobs.encode(whole + b"\x05") + b"\0")
    assert model.events == ["session"]


def test_the_error_of_a_windowed_request_is_kept_but_not_for_a_later_one(agent: Agent) -> None:
    model = AgentModel()
    refused, taken = (Frame(IDS["samples"], 9, seq, body) for seq, body in ((1, b"\xee"), (2, b"x")))
    for frame in (hello(9), refused, refused, taken, taken, refused):
        compare(agent, model, frame.encoded())
    answers = [answer.type for frame in (taken, refused) for answer in model.receive(frame)]
    assert answers == [IDS["ack"], IDS["ack"]]


def test_hello_with_a_new_nonce_begins_again_and_with_the_old_one_repeats(agent: Agent) -> None:
    model = AgentModel()
    for frame in (
        hello(0x101), Frame(IDS["echo"], 1, 1, b"a"), hello(0x101), Frame(IDS["echo"], 1, 2, b"b"),
        hello(0x101, protocol=MESSAGES.protocol + 1), Frame(IDS["echo"], 1, 3, b"c"), hello(0x201), Frame(IDS["echo"], 1, 1, b"d"),
    ):  # fmt: skip
        compare(agent, model, frame.encoded())
    assert len(model.events) == 6


def test_numbers_wrap_at_65536(agent: Agent) -> None:
    model = AgentModel()
    compare(agent, model, hello(3).encoded())
    for start in range(1, 65536, 2500):
        numbers = range(start, min(start + 2500, 65536))
        compare(agent, model, b"".join(Frame(IDS["samples"], 3, seq, b"x").encoded() for seq in numbers))
    for seq in (0, 65535, 1, 0, 1, 2, 32768, 32769, 32771, 65530):
        compare(agent, model, Frame(IDS["echo"], 3, seq, b"").encoded())


def test_a_new_session_forgets_the_reply_that_was_kept(agent: Agent) -> None:
    model = AgentModel()
    compare(agent, model, hello(3).encoded())
    for start in range(1, 65536, 2500):
        numbers = range(start, min(start + 2500, 65536))
        compare(agent, model, b"".join(Frame(IDS["samples"], 3, seq).encoded() for seq in numbers))
    echo = Frame(IDS["echo"], 3, 0, b"old")
    compare(agent, model, echo.encoded())
    assert model.kept is not None
    compare(agent, model, hello(0x103).encoded())
    compare(agent, model, echo.encoded())
    assert model.receive(echo)[0].type == IDS["ack"]


@FAST
@given(data=st.data())
def test_any_frames_in_any_order_are_answered_as_the_document_says(link_program: Path, data: st.DataObject) -> None:
    agent, model = Agent(link_program), AgentModel()
    types = st.sampled_from([*REQUESTS, 0x00, 0x3F, 0xFF, IDS["hello"]])
    for _ in range(data.draw(st.integers(1, 12))):
        near = st.integers(-3, 3).map(lambda step: (model.expected + step) % 2**16)
        frame = data.draw(
            st.one_of(
                st.builds(hello, st.sampled_from([1, 257, 2]), st.sampled_from([*[MESSAGES.protocol] * 3, 1, 0xFFFF])),
                st.builds(Frame, types, st.sampled_from([1, 1, 1, 2]), near, BODIES),
                st.builds(Frame, types, st.just(1), st.integers(0, 65535), BODIES),
            )
        )
        stream = frame.encoded() * data.draw(st.integers(1, 2))
        if data.draw(st.integers(0, 3)) == 0:
            at = data.draw(st.integers(0, len(stream) - 2))
            stream = stream[:at] + bytes([stream[at] ^ data.draw(st.integers(1, 255))]) + stream[at + 1 :]
        compare(agent, model, stream)
    agent.close()


def test_noise_is_survived_and_never_executed(agent: Agent) -> None:
    rng = random.Random(20)
    model = AgentModel()
    compare(agent, model, hello(5).encoded())
    for _ in range(300):
        noise = bytes(rng.choice((0, 1, 2, 255, rng.randrange(256))) for _ in range(rng.randrange(1500)))
        compare(agent, model, noise + b"\0")
    compare(agent, model, Frame(IDS["echo"], 5, 1, b"still here").encoded())
    assert len(model.events) == 2


class Line:
    """A serial line that drops, doubles and flips bytes, and now and then loses a whole burst."""

    def __init__(self, seed: int, rate: float) -> None:
        self._rng, self._rate = random.Random(seed), rate

    def carry(self, data: bytes) -> bytes:
        """Return what arrives of `data`."""
        out = bytearray()
        for byte in data:
            draw = self._rng.random() / self._rate
            if draw < 1:
                continue
            out.append(byte ^ 1 << self._rng.randrange(8) if draw < 2 else byte)
            if 2 <= draw < 3:
                out.append(byte)
        return bytes(out) if self._rng.random() >= 10 * self._rate else b""


class Host:
    """A host that keeps to docs/link.md; a silent line counts as a time-out."""

    def __init__(self, agent: Agent, line: Line, requests: list[Frame]) -> None:
        self.agent, self.line, self.requests = agent, line, requests
        self.oldest, self.next, self.buffer = 0, 0, b""
        self.replies: dict[int, Frame] = {}
        self.events: list[str] = []

    def run(self) -> None:
        """Send everything until it is acknowledged."""
        for _ in range(4000):
            if self.oldest == len(self.requests):
                return
            heard = self._exchange(self._portion())
            if not heard:
                self.next = self.oldest  # time-out: go back to the oldest frame that is not acknowledged
        raise AssertionError(f"stuck at request {self.oldest}")

    def _portion(self) -> bytes:
        out = b"\0"
        while self.next < len(self.requests):
            frame = self.requests[self.next]
            alone = frame.type not in WINDOWED
            if self.next > self.oldest and (alone or self.requests[self.next - 1].type not in WINDOWED):
                break
            if len(out) + len(frame.encoded()) > 4096:
                break
            out += frame.encoded()
            self.next += 1
        return out

    def _exchange(self, portion: bytes) -> bool:
        sent, events = self.agent.receive(self.line.carry(portion))
        self.events += events
        self.buffer += self.line.carry(sent)
        *whole, self.buffer = self.buffer.split(b"\0")
        progress = [self._take(decode(part)) for part in whole if part]
        return any(progress)

    def _take(self, frame: Frame | None) -> bool:
        if frame is None or frame.session != self.requests[0].session or self.oldest == len(self.requests):
            return False
        waiting = self.requests[self.oldest]
        if frame.type in (IDS["ack"], IDS["nak"]):
            expected = struct.unpack("<H", frame.body)[0]
            before = self.oldest
            while self.oldest < len(self.requests) and self.requests[self.oldest].type in WINDOWED:
                if (expected - self.requests[self.oldest].seq) % 2**16 in (0, *range(2**15, 2**16)):
                    break
                self.oldest += 1
            if frame.type == IDS["nak"]:
                self.next = self.oldest
            return self.oldest > before or frame.type == IDS["nak"]
        if frame.seq == waiting.seq and waiting.type not in WINDOWED:
            self.replies[self.oldest] = frame
            self.oldest += 1
            self.next = self.oldest
            return True
        return False


def session_of_requests(seed: int) -> list[Frame]:
    """Return hello and 40 requests as a host may send them."""
    rng = random.Random(seed)
    requests = [hello(0xABCD00 | 0x42)]
    alone = [IDS[name] for name in ("step", "part", "run", "echo", "memory")]
    for seq in range(1, 41):
        kind = rng.choice([IDS["samples"], IDS["samples"], IDS["load_data"], *alone])
        body = bytes([rng.randrange(0xEE), *(rng.randrange(256) for _ in range(rng.choice((0, 5, 60, 300))))])
        requests.append(Frame(kind, 0x42, seq, body))
    return requests


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("rate", [1e-4, 5e-4, 2e-3])
def test_every_request_is_executed_exactly_once_over_a_bad_line(link_program: Path, seed: int, rate: float) -> None:
    requests = session_of_requests(seed)
    agent = Agent(link_program)
    host = Host(agent, Line(seed, rate), requests)
    host.run()
    agent.close()
    model = AgentModel()
    answers = [model.receive(frame) for frame in requests]
    assert host.events == model.events
    for index, reply in host.replies.items():
        assert reply == answers[index][-1]
    assert sum(frame.type in LONG for frame in requests) > 0
