"""Every meter by VISA on its twin behind a socket, one window after the other in one virtual time, and faults between the two."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from hil.benchmarks.energy.simulated_board import Load, SharedTrace
from hil.benchmarks.energy.virtual_meters import BY_SOCKET
from hil.energy.data_sheet import load_data_sheet
from hil.energy.meter_kind import METERS
from hil.energy.window import Window, window_of
from hil.meters.meter import Host, HostMarked, Setting
from hil.meters.window_edges import with_both_edges
from hil.standins.virtual.meter.errors import Flaws
from hil.standins.virtual.meter.truth import VirtualTime
from hil.visa import VisaSession
from tests.unit.meters.unmarked_scene import Line

PS, VOLT = 10**12, 3.3
LATE_S, SHORT_MS, PATIENT_MS = 0.5, 250, 3000
LOAD = Load(0.04, (0.3, 0.5, 0.2), (0.062, 0.081, 0.045), 0.012, 0.0, VOLT)
QUIET = Flaws(0, 0, 0, 0, 0, 0, 0, 0)


@dataclass(frozen=True)
class Kind:
    """A meter: how it is set, and how it tells its readings.

    Attributes:
        key: of its data sheet.
        interval_s, range_a: of its readings.
        query: what it is asked for readings.
        form: of the answer: numbers between commas (`text`), such a block (`block`), or NumPy's type of a binary block.
        column, columns: where the current is in a row.
        turn: the command of somebody who changes its range; empty where it has one.
        seconds: of a window, and half of that asleep on both sides.
    """

    key: str
    interval_s: float
    range_a: float
    query: str
    form: str
    column: int = 0
    columns: int = 1
    turn: str = ""
    seconds: float = 1.2

    def altered(self, answer: bytes, value: float, share: float = 0.5) -> bytes:
        """Return an answer with another current in the middle of it."""
        if self.form in ("text", "block"):
            head = 2 + int(answer[1:2]) if self.form == "block" else 0
            words = answer[head:].split(b",")
            words[int(len(words) * share) // self.columns * self.columns + self.column] = f"{value:+.8E}".encode()
            text = b",".join(words)
            return b"#%d%d%s" % (len(str(len(text))), len(text), text) if self.form == "block" else text
        head = 2 + int(answer[1:2])
        values = np.frombuffer(answer[head:], self.form).copy()
        values[int(len(values) * share) // self.columns * self.columns + self.column] = value
        return answer[:head] + values.tobytes()


KINDS = {
    one.key: one
    for one in (
        Kind("keithley-2450", 0.00225, 0.1, "READ, SOUR, SEC, FRAC, SOURSTAT", "text", 0, 5, ":SENS:CURR:RANG 1"),
        Kind("keithley-dmm6500", 0.001, 0.1, "READ, REL", "<f8", 0, 2, ":DIG:CURR:RANG 1"),
        Kind("keithley-dmm7510", 0.0001, 0.1, "READ, REL", "<f8", 0, 2, ":DIG:CURR:RANG 1"),
        Kind("keysight-34465a", 0.001, 0.1, "R? ", "block", turn="CURR:RANG 1"),
        Kind("keysight-n6705c", 0.001, 0.1, "FETC:ELOG?", ">f4", 0, 2, "SENS:ELOG:CURR:RANG 3,(@1)"),
        Kind("polled-scpi", 0.008, 0.1, "MEAS:CURR?", "text", turn="CURR:RANG 1"),
        Kind("rigol-dp832a", 0.008, 3.2, ":MEAS:ALL? CH1", "text", 1, 3),
        Kind("rs-ngu401", 0.001, 0.1, "FLOG:DATA?", "<f4", 1, 2, "SENS:CURR:RANG 1"),
        Kind("siglent-sdm3065x", 0.007, 0.2, "R?", "block", turn="CURR:DC:RANG 2"),
        Kind("yokogawa-wt310", 0.1, 0.1, ":NUM:NORM:VAL?", "text", 3, 5, ":INP:CURR:RANG 1A", 6.0),
    )
}


class Scene:
    """A meter and its board.

    Args:
        key: of the meter.
    """

    def __init__(self, key: str) -> None:
        self.kind, self.sheet, self.time = KINDS[key], load_data_sheet(key), VirtualTime()
        self.stage, self.load = SharedTrace(self.time, LOAD), LOAD
        self.line = Line(self.make())
        self.idle_s = self.kind.seconds / 2
        self.steps = round(self.kind.seconds / LOAD.step_s)
        self._told: HostMarked | None = None
        self._answered_ps = self._middle_ps = 0
        self._happens: Callable[[], None] | None = None

    def make(self):
        """Return a twin that was just switched on."""
        return BY_SOCKET[self.kind.key](self.stage, QUIET, np.random.default_rng(3), self.time)

    @contextlib.contextmanager
    def open(self, timeout_ms: int = PATIENT_MS) -> Iterator[Scene]:
        """Serve the twin, and open it by its driver."""
        self.line.start()
        session = VisaSession(self.line.address, self.sheet.name, timeout_ms)
        try:
            self.meter = METERS.find(self.kind.key).driver(session, self.sheet, Host(self._now, self._sleep))
            yield self
        finally:
            session.close()
            self.line.stop()

    def _now(self) -> float:
        if self._happens is not None and self.time.ps >= self._middle_ps:
            happens, self._happens = self._happens, None
            happens()
        if self._told is not None and self.time.ps >= self._answered_ps:
            told, self._told = self._told, None
            told.mark(False)
        return self.time.seconds()

    def _sleep(self, seconds: float) -> None:
        self.time.sleep(seconds)
        self._now()

    def setting(self, seconds: float | None = None) -> Setting:
        return Setting(VOLT, self.kind.range_a, self.kind.interval_s, self.idle_s, seconds or self.kind.seconds)

    def window(
        self, happens: Callable[[], None] | None = None, setting: Setting | None = None, scale: float = 1.0
    ) -> Window:
        """Set it up, and let the board live through one window; `happens` is called in the middle of it.

        Raises:
            InvalidWindow, Blocked: as the driver does.
        """
        self.meter.configure(setting or self.setting())
        self.meter.arm()
        begin_ps = self.time.ps + round((self.idle_s + 0.0123) * PS)
        end_ps = self.stage.window(begin_ps, self.steps, scale)
        self._happens, self._middle_ps = happens, (begin_ps + end_ps) // 2
        self._answered_ps = end_ps + round((self.idle_s + 0.002) * PS)
        self._told = self.meter if isinstance(self.meter, HostMarked) else None
        if self._told is not None:
            self._told.mark(True)
        capture = with_both_edges(self.meter.capture(20.0), self.idle_s)
        return window_of(capture, self.idle_s)

    def is_right(self, window: Window) -> bool:
        """Whether the net energy is the board's: to 1 %, of polled ones to 5 %."""
        allowed = 0.05 if self.sheet.kind == "point" and self.kind.interval_s > 0.005 else 0.01
        return abs(window.net / (self.steps * LOAD.net(0.0)) - 1) < allowed

    def once(self, pattern: str, change: Callable[[bytes], bytes | None], skip: int = 0) -> None:
        """Let one answer to a query be changed, or swallowed (None), behind so many right ones."""
        left = [skip]

        def fault(command: str, answer: bytes | None) -> bytes | None:
            if pattern in command and answer is not None:
                left[0] -= 1
                if left[0] == -1:
                    return change(answer)
            return answer

        self.line.fault = fault
