"""Export a window of a power trace for other programs: .csv, .parquet, .jls (Joulescope) and .ppk2 (nRF Connect).

Joulescope's and Nordic's files have one rate for all samples. The readings are integrated over the cells of such a
grid, so that every sample is the mean over its cell, and the energy stays whatever the meter's intervals were.
"""

from __future__ import annotations

import csv
import json
import math
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hil.atomic_write import atomic_file
from hil.energy.capture import Capture, Edge, WindowRequest
from hil.energy.integration import cells, integrals
from hil.errors import RigError
from hil.optional_library import library
from hil.record.parquet import read_columns, rows_of, write_columns
from hil.record.power_trace import read_facts, read_requests

TRACES = ("power.parquet", "trace.parquet")  # of a trial, and of `hil measure`
MARKER = "marker"

JLS_SOURCE, JLS_SIGNALS, JLS_MARKER = 1, {"current_a": (1, "A"), "voltage_v": (2, "V"), "power_w": (3, "W")}, 4
JLS_PIECE = 1 << 20  # samples of a write

PPK2_FASTEST_HZ = 100_000
PPK2_VERSION = 2
PPK2_LOW, PPK2_HIGH = 0x5555, 0x5556  # digital inputs, two bits each: 01 low, 10 high; D0 is the lowest pair
PPK2_SAMPLE = np.dtype([("microamperes", "<f4"), ("inputs", ">u2")])
OVERVIEW, LEAST_NA = 10_000, 200.0  # of the overview in a .ppk2 file: most points, and the least current


@dataclass(frozen=True)
class PowerWindow:
    """One window of a trace: readings, meter, and when the host asked for it."""

    capture: Capture
    meter: dict[str, Any]
    request: WindowRequest | None

    def levels(self, t_s: np.ndarray) -> np.ndarray:
        """Return the level of the marker at times, bool[n]; low without edges."""
        changes = [edge for edge in self.capture.edges if not math.isnan(edge.t_s)]
        places = np.searchsorted([edge.t_s for edge in changes], t_s, side="right")
        before = not changes[0].high if changes else False
        return np.array([before, *(edge.high for edge in changes)])[places]


def read_window(path: Path, number: int = 0) -> PowerWindow:
    """Read a window of a trace.

    Args:
        path: of the trace, or of a folder that holds one: that of a trial, or of `hil measure`.
        number: of the window.

    Raises:
        RigError: there is no trace or no such window, or the file is damaged or too large.
    """
    found = next((path / name for name in TRACES if (path / name).is_file()), path)
    if found.is_dir():
        raise RigError(f"{path} holds no power trace ({' or '.join(TRACES)}): name the folder of a measurement.")
    meter, edges = read_facts(found)
    table = read_columns(found, words=("phase",), only=("window", number))
    if not rows_of(table):
        raise RigError(f"{found} has no window {number}: choose another one.")
    t_s, power, current, voltage = (table[name].astype(float) for name in ("t_s", "power_w", "current_a", "voltage_v"))
    known = [Edge(edge.t_s, edge.half_s, edge.high) for edge, window in edges if window == number]
    aperture_s = float(meter.get("aperture_s") or 0.0)
    interval_s = float(np.median(np.diff(t_s))) if len(t_s) > 1 else aperture_s or 1.0
    current = np.where(np.isnan(current), power / voltage, current)
    if np.isnan(voltage).all() and meter.get("supply_v"):
        voltage = np.full(len(t_s), float(meter["supply_v"]))
        current = np.where(np.isnan(current), power / voltage, current)
    capture = Capture(t_s, power, current, voltage, aperture_s, interval_s, tuple(known), math.inf, None)
    return PowerWindow(capture, meter, read_requests(found).get(number))


def export(window: PowerWindow, path: Path) -> None:
    """Write a window in the format that the file's name ends with.

    Raises:
        RigError: there is no such format, its library is not installed, or it needs what the readings do not have.
        OSError: the file cannot be written; no part of it remains.
    """
    write = FORMATS.get(path.suffix)
    if write is None:
        raise RigError(f"{path.name} ends with {path.suffix!r}: choose one of {', '.join(FORMATS)}.")
    with atomic_file(path) as partial:
        write(window, partial)


def table_of(window: PowerWindow) -> dict[str, np.ndarray]:
    """Return the readings as a table: `time (s)`, `current (A)`, `voltage (V)`, `power (W)`, `marker` (0 or 1)."""
    capture = window.capture
    columns = {"time (s)": capture.t_s, "current (A)": capture.current_a, "voltage (V)": capture.voltage_v}
    return columns | {"power (W)": capture.power_w, MARKER: window.levels(capture.t_s).astype(np.int8)}


def _csv(window: PowerWindow, path: Path) -> None:
    table = {name: column for name, column in table_of(window).items() if not np.isnan(column).all()}
    columns = [[_cell(value) for value in column.tolist()] for column in table.values()]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table)
        writer.writerows(zip(*columns, strict=True))


def _cell(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.9g}" if isinstance(value, float) else str(value)


def _parquet(window: PowerWindow, path: Path) -> None:
    write_columns(path, table_of(window))


# Samples of one rate.


def on_grid(window: PowerWindow, rate_hz: int, values: np.ndarray) -> np.ndarray:
    """Return means over the cells of a grid that begins with the first reading, float64[m].

    Args:
        window: whose readings are integrated (hil/energy/integration.py).
        rate_hz: cells per second.
        values: float64[n], one for each reading.
    """
    bounds = _bounds(window, rate_hz)
    means: np.ndarray = np.diff(integrals(window.capture, values, bounds)) * rate_hz
    return means


def _bounds(window: PowerWindow, rate_hz: int) -> np.ndarray:
    capture = window.capture
    ends = cells(capture) if capture.aperture_s else capture.t_s
    count = max(1, round(float(ends[-1] - ends[0]) * rate_hz))
    bounds: np.ndarray = float(ends[0]) + np.arange(count + 1) / rate_hz
    return bounds


def _middles(bounds: np.ndarray) -> np.ndarray:
    middles: np.ndarray = (bounds[:-1] + bounds[1:]) / 2
    return middles


def _jls(window: PowerWindow, path: Path) -> None:
    """Write a file of version 2 by pyjls (Apache-2.0): current, voltage, power, marker, and a line at every edge."""
    jls = library("pyjls", "Joulescope file", "joulescope")
    capture, meter = window.capture, window.meter
    rate = max(1, round(1 / capture.interval_s))
    bounds = _bounds(window, rate)
    about = {"name": str(meter.get("name", "power meter")), "model": str(meter.get("data_sheet", ""))}
    with jls.Writer(str(path)) as writer:
        writer.source_def(
            JLS_SOURCE, vendor="trainrig", version="", serial_number=str(meter.get("identity", "")), **about
        )
        for name, (signal, unit) in JLS_SIGNALS.items():
            values = getattr(capture, name)
            if np.isnan(values).all():
                continue
            writer.signal_def(signal, JLS_SOURCE, sample_rate=rate, name=name.split("_")[0], units=unit)
            samples = on_grid(window, rate, values).astype(np.float32)
            for first in range(0, len(samples), JLS_PIECE):
                writer.fsr_f32(signal, first, samples[first : first + JLS_PIECE])
            _utc(writer, jls, signal, window, bounds, rate)
        levels = window.levels(_middles(bounds)).astype(np.uint8)
        writer.signal_def(JLS_MARKER, JLS_SOURCE, data_type=jls.DataType.U1, sample_rate=rate, name=MARKER, units="")
        writer.fsr(JLS_MARKER, 0, np.packbits(levels, bitorder="little"))
        for edge in capture.edges:
            place = round((edge.t_s - bounds[0]) * rate)
            label = f"{MARKER} {'up' if edge.high else 'down'}"
            writer.annotation(JLS_SIGNALS["power_w"][0], place, math.nan, jls.AnnotationType.TEXT, 0, label)


def _utc(writer: Any, jls: Any, signal: int, window: PowerWindow, bounds: np.ndarray, rate_hz: int) -> None:
    """Say when a signal was recorded, by the host's clock, if the window was asked for."""
    if window.request is None:
        return
    begin_s = window.request.asked_s + window.request.idle_s + float(bounds[0])  # the first edge is at 0
    for place in (0, len(bounds) - 2):
        writer.utc(signal, place, jls.utc_to_jls(begin_s + place / rate_hz))


def _ppk2(window: PowerWindow, path: Path) -> None:
    """Write what nRF Connect Power Profiler loads: a zip file as its README describes it ("File format").

    session.raw has 6 bytes for each sample: microamperes as float32, little-endian, and the digital inputs, big-endian.
    """
    capture = window.capture
    if not np.isfinite(capture.current_a).all():
        raise RigError("the trace has no current, and a .ppk2 file nothing else: export it as .csv or .parquet.")
    rate = _ppk2_rate(1 / capture.interval_s)
    bounds = _bounds(window, rate)
    samples = np.empty(len(bounds) - 1, PPK2_SAMPLE)
    samples["microamperes"] = 1e6 * on_grid(window, rate, capture.current_a)
    samples["inputs"] = np.where(window.levels(_middles(bounds)), PPK2_HIGH, PPK2_LOW)
    about: dict[str, Any] = {"samplesPerSecond": rate}
    if window.request is not None:
        about["startSystemTime"] = round(
            1000 * (window.request.asked_s + window.request.idle_s + float(capture.t_s[0]))
        )
    parts: dict[str, bytes | str] = {
        "session.raw": samples.tobytes(),
        "metadata.json": json.dumps({"metadata": about, "formatVersion": PPK2_VERSION}),
        "minimap.raw": json.dumps(_overview(samples["microamperes"].astype(float), rate)),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


def _ppk2_rate(rate_hz: float) -> int:
    """Return the rate of the program that is nearest from above: a power of ten up to that of the PPK2."""
    return int(min(10 ** max(0, math.ceil(math.log10(rate_hz) - 1e-9)), PPK2_FASTEST_HZ))


def _overview(microamperes: np.ndarray, rate_hz: int) -> dict[str, Any]:
    """Return the lowest and highest current, in nA, of stretches of 2**k samples; times in us are their middles."""
    folded = 1
    while -(-len(microamperes) // folded) >= OVERVIEW:
        folded *= 2
    begins = np.arange(0, len(microamperes), folded)
    ends = np.minimum(begins + folded, len(microamperes))
    times = (begins + ends - 1) / 2 * 1e6 / rate_hz
    current = np.maximum(1000 * microamperes, LEAST_NA)

    def points(extreme: Callable[..., np.ndarray]) -> list[dict[str, float]]:
        pairs = zip(times.tolist(), extreme(current, begins).tolist(), strict=True)
        return [{"x": x, "y": y} for x, y in pairs]

    data = {"length": len(begins), "min": points(np.minimum.reduceat), "max": points(np.maximum.reduceat)}
    last = len(microamperes) % folded
    return {
        "lastElementFoldCount": last, "data": data, "maxNumberOfElements": OVERVIEW, "numberOfTimesToFold": folded
    }  # fmt: skip


FORMATS: dict[str, Callable[[PowerWindow, Path], None]] = {
    ".csv": _csv,
    ".parquet": _parquet,
    ".jls": _jls,
    ".ppk2": _ppk2,
}
