"""`hil bench stream`: whether the host keeps up with a fast meter in constant memory.

It uses the path of `hil measure`: a virtual Keithley DMM6500 behind a socket, PyVISA, its driver, which reads during
the window, the sums between the edges, and the trace at full rate in Parquet. Instrument, board and host share one
virtual clock and one process, so the figures include time and memory of the instrument.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time as wall
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from hil.benchmarks.rows import BenchmarkRow, show
from hil.energy.data_sheet import load_data_sheet
from hil.meters.keithley_dmm import KeithleyDmm
from hil.meters.measured_window import take
from hil.meters.meter import Host
from hil.record.interval_trace import record_interval
from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.meter.errors import Flaws
from hil.standins.virtual.meter.keithley_dmm import LIMITS, VirtualKeithleyDmm
from hil.standins.virtual.meter.server import InstrumentServer
from hil.standins.virtual.meter.truth import VirtualTime
from hil.threads import start
from hil.visa import VisaSession

KEY, RANGE_A, VOLT = "keithley-dmm6500", 0.1, 3.3
INTERVAL_S, IDLE_S, SECONDS = 1e-5, 0.2, 600.0
SAMPLE_S = 0.01  # between two samples of the memory
STATM = Path("/proc/self/statm")  # proc(5): its second number is the resident set in pages
MB = 1e6


@dataclass(frozen=True)
class Streamed:
    """One measured window."""

    readings: int  # between the edges
    seconds: float  # virtual time between the edges
    wall_s: float  # wall time of the measurement
    least_bytes: int  # resident set of the process before the window,
    peak_bytes: int  # and its maximum during the window
    trace_bytes: int  # size of the Parquet file
    error: float  # relative error of the energy
    lost: int  # number of missing readings


class RepeatedCurrent:
    """The true current of a board that sleeps, works in steps of two levels between two edges, and sleeps again."""

    step_ps, busy_ps = 3_700_000_000, 2_500_000_000
    asleep_a, levels_a = 0.012, (0.071, 0.034)

    def __init__(self, time: VirtualTime, begin_s: float, seconds: float) -> None:
        self._time, self._begin, self._end = time, round(begin_s * PS_PER_S), round((begin_s + seconds) * PS_PER_S)

    def now(self) -> int:
        """Return the present time in picoseconds."""
        return self._time.ps

    def charge(self, times: np.ndarray) -> np.ndarray:
        """Return the charge up to each time: int64[n] picoseconds to float64[n] coulombs."""
        working = np.clip(times, self._begin, self._end) - self._begin
        steps, within = np.divmod(working, self.step_ps)
        busy = steps * self.busy_ps + np.minimum(within, self.busy_ps)
        asleep = times - working
        coulombs: np.ndarray = (
            asleep * self.asleep_a + busy * self.levels_a[0] + (working - busy) * self.levels_a[1]
        ) / PS_PER_S
        return coulombs

    def current(self, times: np.ndarray) -> np.ndarray:
        """Return the current at each instant, float64[n] amperes."""
        working = (times >= self._begin) & (times < self._end)
        busy = (times - self._begin) % self.step_ps < self.busy_ps
        return np.where(working, np.where(busy, *self.levels_a), self.asleep_a)

    def volt(self) -> float:
        """Return the supply voltage."""
        return VOLT

    def edges(self) -> Sequence[tuple[int, int]]:
        """Return the edges of the marker so far."""
        return [edge for edge in ((self._begin, 1), (self._end, 0)) if edge[0] <= self._time.ps]

    def energy(self) -> float:
        """Return the energy between the edges, in joules."""
        begin, end = self.charge(np.array([self._begin, self._end]))
        return float(end - begin) * VOLT


class PeakMemory:
    """Samples the resident set of this process inside a `with` block; `peak` is the maximum in bytes. Linux only."""

    def __init__(self) -> None:
        self.least = self.peak = self._now()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="memory", daemon=True)

    def _now(self) -> int:
        return int(STATM.read_text().split()[1]) * 4096

    def _watch(self) -> None:
        while not self._over.wait(SAMPLE_S):
            self.peak = max(self.peak, self._now())

    def __enter__(self) -> PeakMemory:
        start(self._thread)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def stream(seconds: float, folder: Path) -> Streamed:
    """Measure one window of this virtual duration at 100 kS/s, with its trace in a folder.

    Raises:
        Blocked: the window could not be measured.
    """
    time, rng, sheet = VirtualTime(), np.random.default_rng(1), load_data_sheet(KEY)
    truth = RepeatedCurrent(time, 2 * IDLE_S, seconds)
    server = InstrumentServer(VirtualKeithleyDmm(truth, Flaws(0, 0, 0, 0, 0, LIMITS.noise_a), rng, time))
    server.start()
    host = Host(time.seconds, time.sleep)
    meter = KeithleyDmm(VisaSession(server.resource, sheet.name), sheet, host)
    options = argparse.Namespace(
        volt=VOLT, range=RANGE_A, interval=INTERVAL_S, idle=IDLE_S, window=seconds, deadline=None
    )
    try:
        with PeakMemory() as memory:
            began = wall.perf_counter()
            found = take(meter, options, partial(record_interval, folder), host)
            wall_s = wall.perf_counter() - began
    finally:
        meter.close()
        server.close()
    error = found.energy_j / truth.energy() - 1
    size = (folder / "trace.parquet").stat().st_size
    lost = found.lost or 0
    return Streamed(found.readings, found.duration_s, wall_s, memory.least, memory.peak, size, error, lost)


def rows(seconds: float = SECONDS) -> Iterator[BenchmarkRow]:
    """Yield the figures of one window of this virtual duration."""
    with tempfile.TemporaryDirectory() as folder:
        one = stream(seconds, Path(folder))
    path = "DMM6500 (virtual), socket, PyVISA, sums, Parquet"
    note = f"{one.readings:,} readings at 100 kS/s, {one.seconds:.0f} s of virtual time: {path}"
    yield BenchmarkRow("stream, times real time", one.seconds / one.wall_s, "", note)
    note = f"{one.lost} lost; includes the work of the virtual instrument"
    yield BenchmarkRow("stream, readings", one.readings / one.wall_s, "readings/s", note)
    note = f"resident set, sampled every {1000 * SAMPLE_S:.0f} ms; {one.least_bytes / MB:.0f} MB before"
    yield BenchmarkRow("stream, peak memory", one.peak_bytes / MB, "MB", note)
    yield BenchmarkRow("stream, trace", one.trace_bytes / MB, "MB", "Parquet, five columns at full rate")
    yield BenchmarkRow(
        "stream, error of the energy", 1e6 * one.error, "ppm", "against the truth; the instrument has noise only"
    )


def main(as_json: bool) -> int:
    """Run the benchmark and print its rows."""
    return show(rows(), as_json)
