"""An agent and the line to it, written from docs/link.md: nothing here comes from the host's side of the link."""

from __future__ import annotations

import random
import struct
import zlib
from collections import deque
from dataclasses import dataclass, field

from cobs import cobs

HELLO, LOAD_DATA, SAMPLES, STEP, INFER, ECHO = 0x01, 0x03, 0x06, 0x07, 0x08, 0x0C
REPLY, ACK, NAK, ERROR, FAULT = 0x80, 0x40, 0x41, 0x42, 0x43
WINDOWED, SLOW = (LOAD_DATA, SAMPLES), (STEP, INFER)
BAD_SLOT, PROTOCOL_ERROR = 14, 3
RX_WINDOW = 3000
PROTOCOL = 6
READ_TIMEOUT_S = 0.02
USB_LATENCY_S = 0.002
MOST_READS = 10_000  # far more than any test needs: past it, the two repeat themselves for ever


@dataclass
class Clock:
    """Time as the test wants it; it passes while a port is read."""

    now: float = 1000.0

    def monotonic(self) -> float:
        """Return the seconds since some moment."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


def wire(kind: int, session: int, seq: int, body: bytes) -> bytes:
    """Return a frame as docs/link.md has it."""
    content = struct.pack("<BBH", kind, session, seq) + body
    return cobs.encode(content + struct.pack("<I", zlib.crc32(content))) + b"\0"


@dataclass
class Line:
    """One direction of a serial line. Bytes keep their order; `trouble` is the chance that what is sent comes to harm."""

    clock: Clock
    rng: random.Random
    trouble: float = 0.0
    queue: deque[tuple[float, bytes]] = field(default_factory=deque)
    latest: float = 0.0

    def send(self, data: bytes) -> None:
        """Take bytes in, and do to them what a bad line does."""
        if self.rng.random() < self.trouble:
            data = self._harmed(bytearray(data))
        if self.rng.random() < self.trouble / 4:
            self.latest = max(self.latest, self.clock.now) + self.rng.uniform(0.0, 0.5)  # past the host's time-out
        self.latest = max(self.latest, self.clock.now)
        self.queue.append((self.latest, bytes(data)))

    def _harmed(self, data: bytearray) -> bytes:
        at = self.rng.randrange(len(data))
        harm = self.rng.choice(("drop all", "drop one", "drop rest", "twice", "flip", "noise"))
        if harm == "drop all":
            return b""
        if harm == "twice":
            return bytes(data) * 2
        if harm == "drop one":
            del data[at]
        elif harm == "drop rest":
            del data[at:]
        elif harm == "flip":
            data[at] ^= 1 << self.rng.randrange(8)
        else:
            data[at:at] = self.rng.randbytes(self.rng.randrange(1, 9))
        return bytes(data)

    def arrived(self) -> bytes:
        """Return what has come by now."""
        data = b""
        while self.queue and self.queue[0][0] <= self.clock.now:
            data += self.queue.popleft()[1]
        return data


class SimulatedAgent:
    """An agent behind a serial port: give it to a session as the port.

    It answers `echo` with the same bytes, `step` with the index it was asked for after `step_s` seconds, refuses `samples` for
    the slots in `bad_slots`, and writes down every request that it executes.
    """

    def __init__(
        self, clock: Clock, seed: int = 0, trouble: float = 0.0, protocol: int = PROTOCOL, step_s: float = 2.5
    ) -> None:
        rng = random.Random(seed)
        self.clock, self.protocol, self.step_s = clock, protocol, step_s
        self.inward, self.outward = Line(clock, rng, trouble), Line(clock, rng, trouble)
        self.executed: list[tuple[int, bytes]] = []
        self.hellos = self.reads = 0
        self.bad_slots: set[int] = set()
        self.most_on_the_way = 0
        self._on_the_way: dict[int, int] = {}
        self._pending, self._readable = b"", b""
        self._nonce: int | None = None
        self._expected, self._last_good = 0, 0
        self._kept: tuple[int, int, bytes] | None = None
        self._busy_until, self._later = 0.0, b""

    def start_at(self, seq: int) -> None:
        """Expect `seq` next, as after so many requests."""
        self._expected = seq

    # What pyserial has

    def write(self, data: bytes) -> int:
        """Send bytes to the agent."""
        self._watch_window(data)
        self.inward.send(data)
        return len(data)

    @property
    def in_waiting(self) -> int:
        """Return the bytes that can be read at once."""
        self._run()
        return len(self._readable)

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes; none when the time-out has passed."""
        self.reads += 1
        assert self.reads < MOST_READS, "the host and the agent talk without end"
        self._run()
        if not self._readable:
            self.clock.now += READ_TIMEOUT_S
            self._run()
        self.clock.now += USB_LATENCY_S
        data, self._readable = self._readable[:size], self._readable[size:]
        return data

    # The agent

    def _run(self) -> None:
        if self.clock.now >= self._busy_until:
            if self._later:
                self.outward.send(self._later)
                self._later = b""
            self._pending += self.inward.arrived()
            while b"\0" in self._pending and not self._later:
                encoded, self._pending = self._pending.split(b"\0", 1)
                if encoded:
                    self._receive(encoded)
        self._readable += self.outward.arrived()

    def _receive(self, encoded: bytes) -> None:
        try:
            raw = cobs.decode(encoded)
        except cobs.DecodeError:
            raw = b""
        if not 8 <= len(raw) <= 1024 + 8 or zlib.crc32(raw[:-4]) != struct.unpack("<I", raw[-4:])[0]:
            self._control(NAK, self._last_good)
            return
        kind, session, seq = struct.unpack("<BBH", raw[:4])
        if kind == HELLO and seq == 0:
            self._hello(*struct.unpack("<IH", raw[4:-4]))
        elif self._nonce is not None and session == self._nonce & 0xFF:
            self._last_good = seq
            self._numbered(kind, seq, raw[4:-4])

    def _hello(self, nonce: int, protocol: int) -> None:
        if protocol != self.protocol:
            refusal = struct.pack("<BII", PROTOCOL_ERROR, self.protocol, protocol)
            self.outward.send(wire(ERROR, nonce & 0xFF, 0, refusal))
            return
        if nonce != self._nonce:
            self.hellos += 1
            self._nonce, self._expected, self._last_good, self._kept = nonce, 1, 0, None
        who = struct.pack("<H16sIIIIIHB", self.protocol, b"simulated", 1_000_000, 0, 0, 0, 0, RX_WINDOW, 0)
        self._send(HELLO | REPLY, 0, who)

    def _numbered(self, kind: int, seq: int, body: bytes) -> None:
        behind = (self._expected - seq) & 0xFFFF
        if behind == 0:
            self._expected = (self._expected + 1) & 0xFFFF
            self.executed.append((kind, body))
            self._execute(kind, seq, body)
        elif behind >= 0x8000:
            self._control(NAK, seq)
        elif behind == 1 and self._kept is not None and self._kept[0] == kind:
            self._send(self._kept[1], seq, self._kept[2])
        else:
            self._control(ACK, seq)

    def _execute(self, kind: int, seq: int, body: bytes) -> None:
        if kind in WINDOWED:
            slot = struct.unpack_from("<H", body)[0]
            if kind == SAMPLES and slot in self.bad_slots:
                self._send(ERROR, seq, struct.pack("<BII", BAD_SLOT, slot, 0))
            else:
                self._control(ACK, seq)
        elif kind == STEP:
            reply = body[:4] + struct.pack("<ffb6Q", 1.0, 2.0, -1, *range(6))
            self._kept = (kind, kind | REPLY, reply)
            self._control(ACK, seq)
            self._busy_until = self.clock.now + self.step_s
            self._later = wire(kind | REPLY, self._session, seq, reply)
        else:
            self._kept = (kind, kind | REPLY, body)
            self._send(kind | REPLY, seq, body)

    @property
    def _session(self) -> int:
        return 0 if self._nonce is None else self._nonce & 0xFF

    def _control(self, kind: int, seq: int) -> None:
        self._send(kind, seq, struct.pack("<H", self._expected))

    def _send(self, kind: int, seq: int, body: bytes) -> None:
        self.outward.send(wire(kind, self._session, seq, body))

    def _watch_window(self, data: bytes) -> None:
        """Add up the distinct frames that the agent has not yet taken."""
        for encoded in filter(None, data.split(b"\0")):
            kind, _, seq = struct.unpack_from("<BBH", cobs.decode(encoded))
            if kind in WINDOWED:
                self._on_the_way[seq] = len(encoded) + 1
        self._on_the_way = {
            seq: size for seq, size in self._on_the_way.items() if not 0 < ((self._expected - seq) & 0xFFFF) < 0x8000
        }
        self.most_on_the_way = max(self.most_on_the_way, sum(self._on_the_way.values()))


@dataclass
class DeadPort:
    """A port that fails as pyserial does when the cable is pulled; `when` says at which call."""

    when: str

    def write(self, data: bytes) -> int:
        """Fail, or swallow the bytes."""
        if self.when == "write":
            raise OSError(5, "Input/output error")
        return len(data)

    @property
    def in_waiting(self) -> int:
        """Fail, or have nothing."""
        if self.when == "in_waiting":
            raise OSError(5, "Input/output error")
        return 0

    def read(self, size: int) -> bytes:
        """Fail, or give nothing."""
        if self.when == "read":
            raise OSError(5, "Input/output error")
        return b""
