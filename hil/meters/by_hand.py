"""Readings of a meter without a data port: typed in from its display, or from a file that somebody else's program wrote.

What comes of them carries `typed in` or `from a file` as the identity of the meter, and an accuracy that only the user vouches for.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hil.errors import RigError, close_matches
from hil.measure.capture import Capture, Edge
from hil.measure.data_sheet import CurrentRange, DataSheet

KEY, TYPED_IN, FROM_FILE = "by-hand", "typed in", "from a file"
ENERGY_J = {"J": 1.0, "mJ": 1e-3, "uJ": 1e-6, "Wh": 3600.0, "mWh": 3.6, "uWh": 3.6e-3}
TIME_S = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0, "h": 3600.0}
COLUMNS = {
    "time": TIME_S,
    "current": {"A": 1.0, "mA": 1e-3, "uA": 1e-6},
    "voltage": {"V": 1.0, "mV": 1e-3},
    "power": {"W": 1.0, "mW": 1e-3, "uW": 1e-6},
    "energy": ENERGY_J,
    "marker": {"": 1.0},
}
FORM = "time and power, time and energy, or time, current and voltage"


@dataclass(frozen=True)
class Accuracy:
    """What the user declares: limits of error as a share of the reading, and of the current in amperes."""

    share: float
    offset_a: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.share < 1 or not 0 <= self.offset_a < 10:
            raise RigError(f"{self.share:g} of the reading and {self.offset_a:g} A are no accuracy: declare a share between 0 and 1, such as 0.01 for 1 %.")


@dataclass(frozen=True)
class Typed:
    """A number as it was typed: its value, and what one of its last digit is worth, both in SI units."""

    value: float
    last_digit: float


def typed(text: str, units: dict[str, float], what: str) -> Typed:
    """Read a number with its unit, such as `1.25 mWh`.

    Raises:
        RigError: it is none, not positive, or in another unit.
    """
    found = re.fullmatch(r"\s*(\d+(?:[.,](\d+))?)\s*([a-zA-Zµ]+)\s*", text)
    unit = found[3].replace("µ", "u") if found else ""
    if not found or unit not in units:
        raise RigError(f"{text.strip()!r} is no {what}: type a number and a unit ({', '.join(units)}), such as {'1.25 mWh' if 'Wh' in units else '10.0 s'}.")
    value = float(found[1].replace(",", ".")) * units[unit]
    if value <= 0:
        raise RigError(f"a {what} of {text.strip()} is not positive: read the display again.")
    return Typed(value, 10.0 ** -len(found[2] or "") * units[unit])


def typed_capture(energy: Typed, duration: Typed, volt: float) -> Capture:
    """Return one reading, the mean power over the time that the meter counted, with an edge at either end.

    The duration is good to half of its last digit, which is split between the two edges.
    """
    power = np.array([energy.value / duration.value])
    edges = tuple(Edge(at, duration.last_digit / 4, high) for at, high in ((0.0, True), (duration.value, False)))
    return Capture(np.zeros(1), power, power / volt, np.full(1, volt), duration.value, duration.value, edges, _largest(power / volt), None)


def declared_sheet(identity: str, accuracy: Accuracy, capture: Capture, resolution_a: float = 0.0) -> DataSheet:
    """Return a data sheet of what was declared; everything in it is `unverified`."""
    used = CurrentRange(capture.range_a, accuracy.share, accuracy.offset_a, resolution_a)
    return DataSheet(
        key=KEY, name="meter read by hand", identity=identity, kind="integrating" if capture.aperture_s else "point",
        apertures_s=(capture.aperture_s, capture.aperture_s), fastest_hz=1 / capture.interval_s, timestamps="host", marker="none", loss="none", feeds=False,
        timebase=0.0, voltage_gain=0.0, voltage_offset_v=0.0, voltage_noise_v=0.0, ranges=(used,),
        unverified=("accuracy, as its user declares it",), sources=(),
    )  # fmt: skip


def read_csv(path: Path, volt: float | None = None) -> Capture:
    """Return the readings of a file with a line of column names, units in them where they are not SI: `time_ms`, `current (mA)`.

    Power and current are point samples; energy is a counter that goes on, and a reading the mean between two of its values. Where there is
    a column `marker` (0 or 1), its changes are the edges; else the file begins and ends with the window.

    Args:
        path: of the file, separated by commas or semicolons.
        volt: of the supply, for a file with current only.

    Raises:
        RigError: it is missing, lacks a column, or has a line that is wrong; with its number.
    """
    table = _table(path)
    kinds = [name for name in ("current", "power", "energy") if name in table]
    if "time" not in table or not kinds:
        raise RigError(f"{path.name}, line 1: columns {', '.join(table)} do not do: give {FORM}.")
    if len(kinds) > 1 and kinds != ["current", "power"]:
        raise RigError(f"{path.name}, line 1: {' and '.join(kinds)} may contradict each other: keep one of them.")
    times = table["time"]
    late = np.flatnonzero(np.diff(times) <= 0)
    if len(times) < 2 or len(late):
        where = f"line {late[0] + 3}: its time is not after the one before" if len(late) else "fewer than two readings"
        raise RigError(f"{path.name}, {where}: export the trace again, in order of time.")
    edges = _edges(times, table.get("marker"))
    interval = float(np.median(np.diff(times)))
    if kinds == ["energy"]:
        power, aperture, begins = np.diff(table["energy"]) / np.diff(times), interval, times[:-1]
        volts = np.full(len(power), volt if volt is not None else np.nan)
        return Capture(begins, power, power / volts, volts, aperture, interval, edges, _largest(power / volts), None, ends_s=times[1:])
    volts = table.get("voltage", np.full(len(times), volt if volt is not None else np.nan))
    if "power" in table:
        amps = table.get("current", table["power"] / volts)
        return Capture(times, table["power"], amps, volts, 0.0, interval, edges, _largest(amps), None)
    if np.isnan(volts).any():
        raise RigError(f"{path.name}: current alone is no power: add a column voltage, or say --volt.")
    return Capture(times, table["current"] * volts, table["current"], volts, 0.0, interval, edges, _largest(table["current"]), None)


def _largest(amps: np.ndarray) -> float:
    """Return the largest current, which stands for the range that nobody knows; 0 where no current is known."""
    known = np.abs(amps[np.isfinite(amps)])
    return float(np.max(known, initial=0.0))


def _table(path: Path) -> dict[str, np.ndarray]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise RigError(f"{path} cannot be read ({error}): name a CSV file in UTF-8.") from error
    lines = text.splitlines()
    if not lines:
        raise RigError(f"{path.name} is empty: export the trace again.")
    rows = list(csv.reader(lines, delimiter=";" if lines[0].count(";") > lines[0].count(",") else ","))
    names = [_column(path, head) for head in rows[0]]
    if len({name for name, _ in names}) < len(names):
        raise RigError(f"{path.name}, line 1: a column stands there twice: keep one of them.")
    values = np.empty((len(rows) - 1, len(names)))
    for number, row in enumerate(rows[1:], 2):
        cells = [_number(cell) for cell in row]
        if len(cells) != len(names) or None in cells:
            raise RigError(f"{path.name}, line {number}: {', '.join(row)!r} is not {len(names)} numbers: mend or delete the line.")
        values[number - 2] = cells
    if not np.isfinite(values).all():
        raise RigError(f"{path.name}, line {int(np.argwhere(~np.isfinite(values))[0, 0]) + 2}: a value is not finite: delete the line.")
    scales = [COLUMNS[name][unit] for name, unit in names]
    return {name: values[:, place] * scale for place, ((name, _), scale) in enumerate(zip(names, scales, strict=True))}


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _column(path: Path, head: str) -> tuple[str, str]:
    """Return name and unit of a column; without a unit, its first, which is SI."""
    found = re.fullmatch(r"\s*([A-Za-z]+)[\s_]*[(\[]?([A-Za-zµ]*)[)\]]?\s*", head)
    name = found[1].lower() if found else head
    if not found or name not in COLUMNS:
        raise RigError(f"{path.name}, line 1: there is no column {head.strip()!r}: {close_matches(name, COLUMNS)}")
    unit = next((one for one in COLUMNS[name] if one.lower() == found[2].replace("µ", "u").lower()), None) if found[2] else next(iter(COLUMNS[name]))
    if unit is None:
        raise RigError(f"{path.name}, line 1: {found[2]!r} is no unit of {name}: use {', '.join(filter(None, COLUMNS[name]))}.")
    return name, unit


def _edges(times: np.ndarray, marker: np.ndarray | None) -> tuple[Edge, ...]:
    if marker is None:
        return Edge(float(times[0]), 0.0, True), Edge(float(times[-1]), 0.0, False)
    high = marker > 0.5
    places = np.flatnonzero(np.diff(high.astype(int)))
    return tuple(Edge(float(times[k] + times[k + 1]) / 2, float(times[k + 1] - times[k]) / 2, bool(high[k + 1])) for k in places)
