"""A meter without a board: an instrument behind a loopback socket, a scripted window, faults between the two, one virtual time."""

from __future__ import annotations

import contextlib
import socketserver
import threading
import time as wall
from collections.abc import Callable, Iterator

import numpy as np

from hil.energy.data_sheet import DataSheet
from hil.meters.meter import Host, Setting
from hil.standins.virtual.meter.errors import FlawLimits, Flaws
from hil.standins.virtual.meter.truth import ScriptedTrace, VirtualTime
from hil.visa import VisaSession

PS = 10**12
VOLT = 3.3
DIGEST_S = 0.03
IDLE_A, STEP_S, PHASES = 0.012, 0.04, ((0.0, 0.062), (0.3, 0.081), (0.8, 0.045))


class Silence(Exception):
    """The instrument says nothing, and closes the connection."""


class Line:
    """An instrument on a socket; `fault(query, answer)` may change or swallow an answer, raise Silence or sleep."""

    def __init__(self, instrument) -> None:
        self.instrument = instrument
        self.fault: Callable[[str, bytes | None], bytes | None] = lambda _, answer: answer
        self.port = 0
        self._server: socketserver.ThreadingTCPServer | None = None

    def start(self) -> None:
        line = self

        class Session(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                line.connections.append(self.connection)
                with contextlib.suppress(OSError, Silence):
                    for raw in self.rfile:
                        command = raw.decode("ascii").strip()
                        answer = line.fault(command, line.instrument.execute(command))
                        if answer is not None:
                            self.wfile.write(answer + b"\n")

        self.connections = []
        socketserver.ThreadingTCPServer.allow_reuse_address = True
        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", self.port), Session)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(2)

    @property
    def address(self) -> str:
        return f"TCPIP0::127.0.0.1::{self.port}::SOCKET"


def limits(sheet: DataSheet, range_a: float) -> FlawLimits:
    """What the data sheet allows on a range."""
    one = sheet.range_for(range_a)
    return FlawLimits(
        one.gain,
        one.offset_a,
        sheet.voltage_gain,
        sheet.voltage_offset_v,
        sheet.timebase,
        one.noise_a,
        sheet.voltage_noise_v,
        one.drift_a_per_s,
    )


class Scene:
    """One window in virtual time, the host's two words to the meter, and the truth about its energy.

    Args:
        make: (truth, errors, rng, time) to an instrument.
        sheet: of the meter.
        seed: of its errors and of the window.
        scale: of all currents.
        talks: whether the host tells the meter when it asked and was answered.
        flat: the current never changes.
    """

    def __init__(
        self,
        make,
        sheet: DataSheet,
        seed: int = 0,
        *,
        range_a: float,
        idle_s: float = 0.5,
        window_s: float = 1.2,
        scale: float = 1.0,
        talks: bool = True,
        flat: bool = False,
    ) -> None:
        self.time, self.sheet, self.range_a, self.talks = VirtualTime(), sheet, range_a, talks
        self.idle_s = idle_s
        rng = np.random.default_rng(seed)
        self.asked_s = 1.0 + float(rng.uniform(0, 0.1))
        self.up_s = self.asked_s + 0.004 + idle_s
        steps = round(window_s / STEP_S)
        self.down_s = self.up_s + steps * STEP_S
        self.answered_s = self.down_s + idle_s + DIGEST_S
        starts = [self.up_s + STEP_S * (step + at) for step in range(steps) for at, _ in PHASES]
        times = [0.0, *starts, self.down_s, self.down_s + idle_s, self.answered_s]
        levels = [IDLE_A, *[level for _ in range(steps) for _, level in PHASES], IDLE_A, 0.06, IDLE_A]
        levels = [IDLE_A] * len(levels) if flat else levels
        edges = [(round(self.up_s * PS), 1), (round(self.down_s * PS), 0)]
        self.trace = ScriptedTrace(
            self.time, np.round(np.array(times) * PS).astype(np.int64), scale * np.array(levels), edges, VOLT
        )
        self.errors = Flaws.draw(limits(sheet, range_a), rng)
        self.line = Line(make(self.trace, self.errors, rng, self.time))
        self.meter = None
        self.slowest_s = 0.0  # a host that cannot wait for less
        self._said: set[bool] = set()

    def now(self) -> float:
        self.tell()
        return self.time.seconds()

    def sleep(self, seconds: float) -> None:
        self.time.sleep(max(seconds, self.slowest_s))
        self.tell()

    def tell(self) -> None:
        """Let the trial's thread speak: in virtual time it does so whenever the meter looks at the clock."""
        for begins, at in ((True, self.asked_s), (False, self.answered_s)):
            if self.talks and self.meter is not None and begins not in self._said and self.time.seconds() >= at:
                self._said.add(begins)
                self.meter.mark(begins)  # which looks at the clock again

    @property
    def host(self) -> Host:
        return Host(self.now, self.sleep)

    def setting(self, interval_s: float, window_s: float | None = None) -> Setting:
        return Setting(
            VOLT, self.range_a, interval_s, self.idle_s, self.down_s - self.up_s if window_s is None else window_s
        )

    def session(self, timeout_ms: int = 2000) -> VisaSession:
        return VisaSession(self.line.address, self.sheet.name, timeout_ms)

    @contextlib.contextmanager
    def open(self, driver, timeout_ms: int = 2000, **more) -> Iterator:
        self.line.start()
        session = self.session(timeout_ms)
        try:
            self.meter = driver(session, self.sheet, self.host, **more)
            yield self.meter
        finally:
            session.close()
            self.line.stop()

    def run(self, meter, interval_s: float, deadline_s: float = 20.0):
        """Arm the meter as the trial does, a moment before the host asks, and return what it captured."""
        meter.configure(self.setting(interval_s))
        self.time.ps = max(self.time.ps, round((self.asked_s - 0.02) * PS))
        meter.arm()
        return meter.capture(deadline_s)

    def net(self) -> float:
        """The window's true energy above idle, in joules."""
        begin, end = (np.array([round(at * PS)]) for at in (self.up_s, self.down_s))
        gross = float((self.trace.charge(end) - self.trace.charge(begin))[0]) * VOLT
        return gross - float(self.trace.current(begin - PS // 10)[0]) * VOLT * (self.down_s - self.up_s)

    def holds(self, capture) -> bool:
        """Whether the true edges lie in the captured ones, but for how wrong the meter's clock may be."""
        return all(
            abs(edge.t_s - true) <= edge.half_s + self.sheet.timebase * true
            for edge, true in zip(capture.edges, (self.up_s, self.down_s), strict=True)
        )


def net_energy(capture, idle_s: float) -> float:
    """The energy above idle between two quiet ends of a capture, in joules: rectangles for means, the trapezoid for points."""
    (first, second), idle = capture.edges, capture.t_s
    asleep = (idle < first.t_s - first.half_s - capture.aperture_s - 0.01) & (idle > first.t_s - 0.7 * idle_s)
    asleep |= (idle > second.t_s + second.half_s + 0.01) & (idle < second.t_s + 0.7 * idle_s)
    inside = (idle > first.t_s - 0.5 * idle_s) & (idle < second.t_s + 0.5 * idle_s)
    t, above = idle[inside], capture.power_w[inside] - np.mean(capture.power_w[asleep])
    if capture.aperture_s:
        return float(np.sum(above[:-1] * np.diff(t)))
    return float(np.sum((above[1:] + above[:-1]) / 2 * np.diff(t)))


def late(seconds: float, query: str):
    """A fault: the first answer to a query comes too late, once."""
    state = {"due": True}

    def fault(command: str, answer: bytes | None) -> bytes | None:
        if command == query and state["due"]:
            state["due"] = False
            wall.sleep(seconds)
        return answer

    return fault


def once(query: str, change: Callable[[bytes], bytes | None], after: int = 0):
    """A fault: one answer to a query is changed, after so many."""
    state = {"left": after}

    def fault(command: str, answer: bytes | None) -> bytes | None:
        if command == query and answer is not None:
            state["left"] -= 1
            if state["left"] == -1:
                return change(answer)
        return answer

    return fault
