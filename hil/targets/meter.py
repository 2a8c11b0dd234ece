"""A power meter, through PyVISA: arm it for a window between two marker edges, wait, read its buffers."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import pyvisa
from pyvisa.resources import MessageBasedResource

from hil.errors import Blocked
from hil.measure.data_sheet import CurrentRange, DataSheet, load_data_sheet
from hil.measure.window import Readings, WindowTrace

LINE_HZ = 50.0
NPLC = 0.1  # power line cycles an aperture: 2 ms
TIMEOUT_MS = 5000
BUFFER = 20_000  # readings
BLOCK = 500  # readings a query
POLL_S = 0.02
OVERFLOW = 9e37
BEFORE, STEPS, AFTER = "before", "steps", "after"


class Meter(Protocol):
    """An instrument that feeds a board and finds the marker's edges by itself."""

    sheet: DataSheet
    identity: str
    used: CurrentRange

    def arm(self, idle_s: float) -> None:
        """Begin to read; the next two edges of the marker part the readings."""
        ...

    def read(self, deadline_s: float) -> WindowTrace | None:
        """Wait until the window is over and return it; None when it was beyond the range, which is then the next one up."""
        ...

    def close(self) -> None:
        """Let go of the instrument; the board stays fed."""
        ...


class Keithley2450:
    """A Keithley 2450 that feeds the board through its terminals, marker on digital line 1 (Reference Manual 2450-901-01).

    The trigger model reads into one buffer until the first edge, into the next until the second, and into a third while the board
    sleeps again, so the instrument itself parts the readings and the host's clock has no say.

    Args:
        resource: an open VISA resource.
        volt: supply of the board.
        sheet: its data sheet.

    Raises:
        Blocked: another instrument, or it reports an error.
    """

    def __init__(self, resource: MessageBasedResource, volt: float, sheet: DataSheet) -> None:
        self._resource, self.sheet = resource, sheet
        self.used = sheet.ranges[0]
        self.identity = self._ask("*IDN?").strip()
        if sheet.identity not in self.identity:
            raise Blocked("meter", f"the meter is {self.identity!r}, not a {sheet.name}: put rig.toml right.")
        self._tell("*CLS", "*RST")
        self._tell(":SOUR:FUNC VOLT", f":SOUR:VOLT {volt:g}", ":SOUR:VOLT:ILIM 1", ":SOUR:VOLT:READ:BACK ON")
        self._tell(':SENS:FUNC "CURR"', f":SENS:CURR:NPLC {NPLC:g}")
        self._tell(*(f':TRAC:MAKE "{name}", {BUFFER}' for name in (BEFORE, STEPS, AFTER)))
        self._tell(":DIG:LINE1:MODE TRIG, IN", ":TRIG:DIG1:IN:EDGE EITH")
        self._set_range(sheet.ranges[0])
        self._tell(":OUTP ON")
        self._check()

    def _set_range(self, wanted: CurrentRange) -> None:
        """Fix the range: a change within a window would leave a gap."""
        self.used = wanted
        self._tell(f":SENS:CURR:RANG {wanted.amperes:g}")

    def arm(self, idle_s: float) -> None:
        """Begin to read; the next two edges of the marker part the readings."""
        self._tell(*(f':TRAC:CLE "{name}"' for name in (BEFORE, STEPS, AFTER)))
        self._tell(
            ':TRIG:LOAD "Empty"', f':TRIG:BLOC:MEAS 1, "{BEFORE}", INF', ":TRIG:BLOC:WAIT 2, DIG1",
            f':TRIG:BLOC:MEAS 3, "{STEPS}", INF', ":TRIG:BLOC:WAIT 4, DIG1", f':TRIG:BLOC:MEAS 5, "{AFTER}", INF',
            f":TRIG:BLOC:DEL:CONS 6, {0.95 * idle_s:g}", f':TRIG:BLOC:MEAS 7, "{AFTER}", 0', ":INIT",
        )  # fmt: skip
        self._check()

    def read(self, deadline_s: float) -> WindowTrace | None:
        """Wait until the window is over and return it; None when it was beyond the range, which is then the next one up."""
        self._wait(deadline_s)
        before, steps, after = (self._buffer(name) for name in (BEFORE, STEPS, AFTER))
        self._check()
        if max(np.max(part.current_a, initial=0.0) for part in (before, steps, after)) > OVERFLOW:
            self._range_up()
            return None
        interval = float(np.median(np.diff(steps.t_s)))
        return WindowTrace(before, steps, after, interval, NPLC / LINE_HZ)

    def _range_up(self) -> None:
        above = [one for one in self.sheet.ranges if one.amperes > self.used.amperes]
        if not above:
            raise Blocked(
                "meter",
                f"the board draws more than {self.used.amperes:g} A, the largest range of the {self.sheet.name}: measure with another instrument.",
            )
        self._set_range(above[0])

    def _wait(self, deadline_s: float) -> None:
        until = time.monotonic() + deadline_s
        while self._ask(":TRIG:STAT?").split(";")[0] != "IDLE":
            if time.monotonic() > until:
                self._tell(":ABOR")
                raise Blocked(
                    "meter",
                    f"the {self.sheet.name} has not seen both edges of the marker within {deadline_s:.0f} s: "
                    "wire the board's marker pin to its digital line 1.",
                )
            time.sleep(POLL_S)

    def _buffer(self, name: str) -> Readings:
        """Read a buffer in blocks: a long answer would outlast the time-out."""
        count = int(self._ask(f':TRAC:ACT? "{name}"'))
        values: list[float] = []
        for first in range(1, count + 1, BLOCK):
            last = min(first + BLOCK - 1, count)
            values += map(float, self._ask(f':TRAC:DATA? {first}, {last}, "{name}", READ, SOUR, SEC, FRAC').split(","))
        table = np.array(values).reshape(-1, 4)
        return Readings(table[:, 2] + table[:, 3], table[:, 0], table[:, 1])

    def close(self) -> None:
        """Let go of the instrument; the board stays fed."""
        with contextlib.suppress(pyvisa.Error, OSError):
            self._resource.close()

    def _tell(self, *commands: str) -> None:
        for command in commands:
            with _blocked(command):
                self._resource.write(command)

    def _ask(self, query: str) -> str:
        with _blocked(query):
            return str(self._resource.query(query))

    def _check(self) -> None:
        """Empty the error queue: an instrument goes on after a refused command and measures something else."""
        error = self._ask(":SYST:ERR?").strip()
        if not error.startswith("0,"):
            raise Blocked(
                "meter",
                f"the {self.sheet.name} reports {error}: power it off and on, and update its firmware if it stays.",
            )


@contextlib.contextmanager
def _blocked(command: str) -> Iterator[None]:
    try:
        yield
    except (pyvisa.Error, OSError, ValueError) as error:
        raise Blocked(
            "meter",
            f"the meter did not take {command!r} ({error}): check its cable, its address in rig.toml and its power.",
        ) from error


@contextlib.contextmanager
def open_meter(address: str, volt: float, model: str = "keithley-2450") -> Iterator[Meter]:
    """Open a meter by its VISA resource name, and let go of it at the end.

    Args:
        address: VISA resource name.
        volt: supply of the board in volts.
        model: name of its data sheet.

    Raises:
        Blocked: it does not answer, or is another instrument.
    """
    sheet = load_data_sheet(model)
    options: dict[str, Any] = {"read_termination": "\n", "write_termination": "\n", "timeout": TIMEOUT_MS}
    manager = pyvisa.ResourceManager("@py")
    with _blocked("open"):
        resource = manager.open_resource(address, resource_pyclass=MessageBasedResource, **options)
    assert isinstance(resource, MessageBasedResource)
    try:
        yield Keithley2450(resource, volt, sheet)
    finally:
        resource.close()
