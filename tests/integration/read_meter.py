"""Read a window with the Northwind PM10, from a virtual one behind a socket; print what was read, as JSON.

The driver is that of tests/integration/northwind, a folder of plugins; `unmarked_scene` that of tests/unit/meters.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
from unmarked_scene import PS, VOLT, Scene, net_energy, once

import hil
from hil.energy.data_sheet import load_data_sheet
from hil.energy.meter_kind import METERS
from hil.errors import Blocked
from hil.meters.meter import InvalidWindow
from hil.meters.open import open_meter
from hil.standins.virtual.meter.errors import Flaws
from hil.standins.virtual.meter.polled_scpi import VirtualWait
from hil.standins.virtual.meter.scpi import number
from hil.standins.virtual.meter.scpi_instrument import Answer, ScpiInstrument
from hil.standins.virtual.meter.truth import Truth

KEY, INTERVAL_S, IDLE_S = "northwind-pm10", 0.002, 0.5
RANGES_A = (0.02, 0.2)
LATENCY_S = (0.0002, 0.001)
OVERLOAD = 9.9e37  # SCPI-99, volume 1, 7.2.1: infinity
MEMORY = 1000  # readings


class VirtualPM10(ScpiInstrument):
    """A Northwind PM10: instants of the truth at a fixed interval, in a memory that overflows.

    Args:
        truth: what it is wired to.
        errors: its own.
        rng: of noise and latency.
        time: lets the time of an answer pass.
    """

    def __init__(self, truth: Truth, errors: Flaws, rng: np.random.Generator, time: VirtualWait) -> None:
        self._truth, self._off, self._rng, self._time = truth, errors, rng, time
        commands: dict[str, Callable[[str], Answer]] = {
            ":RANGe": self._set_range,
            ":RANGe?": lambda _: f"{self._range:g}",
            ":LOG:INTerval": self._set_interval,
            ":LOG:STARt": self._start,
            ":LOG:STOP": self._stop,
            ":LOG:DATA?": lambda _: self._data(),
            ":LOG:LOST?": lambda _: str(self._lost),
        }
        super().__init__("Northwind,PM10,VIRTUAL,1.0", commands)
        self.preset()

    def preset(self) -> None:
        """The largest range, and no log."""
        self._range, self._interval_ps = RANGES_A[-1], PS // 1000
        self._began: int | None = None
        self._next = self._lost = 0

    def execute(self, line: str) -> bytes | None:
        """Let the time of an answer pass, and carry the line out."""
        if "?" in line:
            self._time.sleep(float(self._rng.uniform(*LATENCY_S)))
        return super().execute(line)

    def _set_range(self, argument: str) -> None:
        wanted = number(argument, 0, RANGES_A[-1])
        self._range = next(one for one in RANGES_A if wanted <= one)

    def _set_interval(self, argument: str) -> None:
        self._interval_ps = round(number(argument, 1e-3, 1.0) * PS)

    def _start(self, _argument: str) -> None:
        self._began, self._next, self._lost = self._truth.now(), 0, 0

    def _stop(self, _argument: str) -> None:
        self._began = None

    def _data(self) -> str:
        """Return the readings since the last query; those that the memory did not hold are lost."""
        assert self._began is not None
        made = (self._truth.now() - self._began) // self._interval_ps + 1
        first = max(self._next, made - MEMORY)
        self._lost += first - self._next
        self._next = made
        times = self._began + self._interval_ps * np.arange(first, made)
        current = self._off.current(self._truth.current(times), 1.0, times / PS, self._rng)
        current = np.where(np.abs(current) > 1.02 * self._range, OVERLOAD, current)
        volt = self._off.voltage(self._truth.volt(), len(times), 1.0, self._rng)
        return ",".join(f"{value:.8E}" for value in np.stack([current, volt], axis=1).ravel())


def made(range_a: float = RANGES_A[-1]) -> Scene:
    """Return a window with the instrument."""
    return Scene(VirtualPM10, load_data_sheet(KEY), 1, range_a=range_a, idle_s=IDLE_S)


def refusal(one: Scene, fault: Callable[[str, bytes | None], bytes | None] | None = None) -> list[object]:
    """Return how a window ends that must not count: the error, its sentence, and whether the range was too small."""
    if fault is not None:
        one.line.fault = fault
    try:
        window(one)
    except (Blocked, InvalidWindow) as error:
        return [type(error).__name__, str(error), getattr(error, "beyond_range", False)]
    return []


def window(one: Scene) -> dict[str, object]:
    """Return what the driver says of a window, opened as a trial opens it."""
    one.line.start()
    try:
        with open_meter(one.line.address, VOLT, KEY, one.host) as meter:
            one.meter = meter
            capture = one.run(meter, INTERVAL_S)
            meter.arm()
            one.sleep(0.1)
            watched = meter.watch()
    finally:
        one.line.stop()
    expected = one.net() * (1 + one.errors.gain) * (1 + one.errors.voltage_gain)
    return {
        "identity": meter.identity,
        "class": meter.__class__.__name__,
        "holds": one.holds(capture),
        "lost": capture.lost,
        "readings": len(capture.t_s),
        "energy": [net_energy(capture, IDLE_S), expected],
        "watched": len(watched),
    }


def main() -> None:
    """Print what was read."""
    slow = made()
    slow.slowest_s = 2.5  # a host that comes after the memory has overflowed
    said = {
        "from": hil.__file__,
        "listed": KEY in METERS,
        "window": window(made()),
        "overload": refusal(made(RANGES_A[0])),
        "lost": refusal(slow),
        "range": refusal(made(), once("RANG?", lambda _: b"0.02", after=1)),
        "error": refusal(made(), once(":SYST:ERR?", lambda _: b'-222,"Parameter data out of range"')),
        "another": refusal(made(), once("*IDN?", lambda _: b"Northwind,PM9,VIRTUAL,1.0")),
    }
    print(json.dumps(said))


if __name__ == "__main__":
    main()
