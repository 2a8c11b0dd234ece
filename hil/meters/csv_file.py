"""Read a power trace from a CSV file of another program."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from hil.energy.capture import Capture, Edge
from hil.energy.current_ranges import peak_current
from hil.errors import RigError
from hil.meters.csv_columns import BITS, CsvColumn, find_columns, unused
from hil.meters.csv_counter import continued
from hil.meters.csv_layout import CsvLayout, find_layout
from hil.meters.csv_marker import window_edges
from hil.meters.csv_resolution import counter_notes, last_digit, power_notes, resolution_j
from hil.meters.csv_text import CLOCK, LARGEST, CsvText
from hil.meters.reading_checks import missing

DAY_S = 86_400.0
LEVELS = {"0": 0.0, "1": 1.0}  # characters of a digital input; any other one is an unknown level
UNKNOWN = ("-", "X")  # PPK2: the input has no level, or had both
# Of the interval: if the median deviation of the spacing is smaller, readings lie on a grid, and a gap is a loss.
REGULAR = 0.01
LATE = 1.5  # intervals from the reading before: rows are missing between
NAMED = 5  # lines in a note
SHORTEST_S = 1e-12  # shortest interval
QUANTITIES = {"current", "voltage", "power", "energy"}  # whose last digit matters
COARSEST = 15  # powers of ten


def read_csv(
    path: Path, volt: float | None = None, columns: Mapping[str, str] | None = None, shunt_ohm: float | None = None,
    debounce_s: float | None = None
) -> Capture:  # fmt: skip
    """Return the readings of a file in one of the layouts of hil/meters/csv_layout.py. A time of day may pass midnight.

    Power and current are instants; in a Joulescope's statistics they are means. Energy is a running counter, and a
    reading is the mean power between two of its values. The edges are the changes of the marker; without a marker, the
    window is the whole file.

    Args:
        path: of the file.
        volt: supply voltage, for a file with only current.
        columns: meanings of columns, by their names: `{"CH1": "current (mA)"}`.
        shunt_ohm: resistance of a shunt, if the column of the current holds its voltage.
        debounce_s: changes of the marker that are closer together are one edge. None: more than two changes are an
            error.

    Raises:
        RigError: the file or a column is missing, or a line is wrong; the message has its number.
    """
    text = CsvText(path)
    layout = find_layout(text)
    used = find_columns(text.name, layout, columns or {}, shunt_ohm)
    if volt is not None and "voltage" in used:
        raise RigError(
            f"{text.name}: its column {used['voltage'].name!r} has the voltage, and --volt {volt:g} gives another one: "
            "leave --volt out."
        )
    values, lines, digits = _values(text, layout, used)
    times = _times(text.name, layout, used["time"], values["time"], lines)
    counted = _counted(text.name, used, values, times, lines)
    edges, discarded = window_edges(text.name, times, used.get("marker"), values.get("marker"), debounce_s)
    voltage_v = values.get("voltage", np.full(len(times), volt if volt is not None else np.nan))
    capture = _capture(text.name, layout, times, values, voltage_v, edges)
    counted += power_notes(text.name, used, values, voltage_v, layout.means)
    if layout.means:
        counted += counter_notes(used, values, times, _late(layout, times))
    notes = _notes(layout, used, shunt_ohm, volt, values)
    for note in [*discarded, *counted, *_gaps(layout, times, lines), *notes]:
        capture = capture.noted(note)
    gaps = int(np.sum(_late(layout, times)))
    return replace(capture, resolution_j=resolution_j(text.name, values, digits, capture, layout.means, gaps))


def _values(
    text: CsvText, layout: CsvLayout, used: Mapping[str, CsvColumn]
) -> tuple[dict[str, np.ndarray], np.ndarray, dict[str, float]]:
    """Return the numbers of each kind in SI units, float64[n], their lines, and for each kind a unit of the last digit.

    An unknown marker is NaN.
    """
    kept, lines = {kind: array("d") for kind in used}, array("q")
    finest = dict.fromkeys(used.keys() & QUANTITIES, COARSEST)
    width, beside = len(layout.heads), layout.beside
    clock = False
    for line, cells in text.lines():
        if line < layout.first or cells[0].startswith("#"):
            continue
        row = cells[beside:]
        if len(row) < width or any(row[width:]):
            raise text.mistake(line, cells[beside:], width)
        for kind, column in used.items():
            cell, number = _cell(text, line, row, width, kind, column)
            kept[kind].append(number)
            if kind in finest:
                finest[kind] = min(finest[kind], last_digit(cell))
        clock = clock or CLOCK.fullmatch(row[used["time"].place]) is not None
        lines.append(line)
    values = {
        kind: np.frombuffer(numbers, np.float64) * used[kind].scale if len(numbers) else np.empty(0)
        for kind, numbers in kept.items()
    }
    if clock:
        values["time"][1:] += DAY_S * np.cumsum(np.diff(values["time"]) < -DAY_S / 2)  # midnight
    return values, np.array(lines, np.int64), {kind: 10.0 ** finest[kind] * used[kind].scale for kind in finest}


def _cell(text: CsvText, line: int, row: list[str], width: int, kind: str, column: CsvColumn) -> tuple[str, float]:
    """Return a cell of a row as text and as a number, NaN for an unknown marker.

    Raises:
        RigError: it is no number, or none of a reading.
    """
    if column.bit is not None:
        cell = row[column.place][column.bit : column.bit + 1]
        return cell, LEVELS.get(cell, math.nan)
    cell = row[column.place]
    number = text.number(cell)
    if number is None and kind == "marker" and cell in UNKNOWN:
        number = math.nan
    elif number is None:
        raise text.mistake(line, row, width)
    elif not abs(number) < LARGEST:
        why = "is not finite" if not math.isfinite(number) else "is too large for a reading"
        raise RigError(f"{text.name}, line {line}: a value {why}: delete the line.")
    if text.delimiter != "," and ":" not in cell:  # a time of day may have its own sign
        text.require_one_sign(line, cell)
    return cell, number


def _times(name: str, layout: CsvLayout, column: CsvColumn, read: np.ndarray, lines: np.ndarray) -> np.ndarray:
    """Return the time of each reading, float64[n] seconds, ascending.

    Raises:
        RigError: there are fewer than two, or they are not in order.
    """
    times = read if layout.steps is None or column.place else layout.steps[0] + layout.steps[1] * read
    if len(times) < 2:
        raise RigError(f"{name}: it holds fewer than two readings: export the trace again.")
    late = np.flatnonzero(np.diff(times) <= 0)
    if len(late):
        line = lines[late[0] + 1]
        if times[late[0] + 1] == times[late[0]]:
            raise RigError(
                f"{name}, line {line}: its time is that of the line before: export the time with more digits, "
                "or delete the line."
            )
        raise RigError(
            f"{name}, line {line}: its time is not after that of the line before: export the trace again, "
            "in order of time."
        )
    if float(np.median(np.diff(times))) < SHORTEST_S:
        raise RigError(
            f"{name}: its readings are less than {SHORTEST_S:g} s apart: give the unit of the time, such as "
            f"--column '{column.name}=time (ms)'."
        )
    return times


def _counted(
    name: str, used: Mapping[str, CsvColumn], values: dict[str, np.ndarray], times: np.ndarray, lines: np.ndarray
) -> list[str]:
    """Check the energy counter and continue it where it went round; return notes about it."""
    if "energy" not in values:
        return []
    scale = used["energy"].scale
    counter, notes = continued(name, values["energy"] / scale, times, lines)
    if counter is not values["energy"]:
        values["energy"] = counter * scale
    return notes


def _late(layout: CsvLayout, times: np.ndarray) -> np.ndarray:
    """Return which readings come after a gap, bool[n - 1] from the second one, in a file of means over an interval."""
    spacing = np.diff(times)
    return spacing > LATE * float(np.median(spacing)) if layout.means else np.zeros(len(spacing), bool)


def _gaps(layout: CsvLayout, times: np.ndarray, lines: np.ndarray) -> list[str]:
    """Return a note on rows that are missing in a file of means."""
    late = np.flatnonzero(_late(layout, times))
    if not len(late):
        return []
    named = ", ".join(str(lines[place + 1]) for place in late[:NAMED]) + ", ..." * (len(late) > NAMED)
    return [
        f"rows are missing before line{'s' * (len(late) > 1)} {named}: the energy of the gap is from the energy column."
    ]


def _capture(
    name: str, layout: CsvLayout, times: np.ndarray, values: Mapping[str, np.ndarray], volts: np.ndarray,
    edges: tuple[Edge, ...]
) -> Capture:  # fmt: skip
    """Return the readings. The largest current substitutes the unknown range.

    Only readings that are missing between the edges count: after a window, a clock may be set.
    """
    interval = float(np.median(np.diff(times)))
    on_a_grid = float(np.median(np.abs(np.diff(times) - interval))) <= REGULAR * interval
    begin, end = (edge.t_s for edge in edges[:2])
    first, last = max(int(np.searchsorted(times, begin, "right")) - 1, 0), int(np.searchsorted(times, end))
    lost = missing(times[first : last + 1], interval) if on_a_grid or layout.means else None
    if "energy" in values:
        power = np.diff(values["energy"]) / np.diff(times)
        if layout.means:  # the counter has fewer digits than the means, and knows what the means of missing rows were
            power = np.where(_late(layout, times), power, values["power"][1:])
        amps = power / volts[1:]
        return Capture(
            times[:-1], power, amps, volts[1:], interval, interval, edges, peak_current(amps),
            lost if layout.means else None, ends_s=times[1:],
        )  # fmt: skip
    if "power" in values:
        amps = values.get("current", values["power"] / volts)
        return Capture(times, values["power"], amps, volts, 0.0, interval, edges, peak_current(amps), lost)
    if np.isnan(volts).any():
        raise RigError(
            f"{name}: current alone is not power: give the supply voltage with --volt, or the column that holds it "
            "with --column NAME=voltage."
        )
    amps = values["current"]
    return Capture(times, amps * volts, amps, volts, 0.0, interval, edges, peak_current(amps), lost)


def _notes(
    layout: CsvLayout,
    used: Mapping[str, CsvColumn],
    shunt_ohm: float | None,
    volt: float | None,
    values: Mapping[str, np.ndarray],
) -> list[str]:
    """Return notes about the uncertainty of the readings, one sentence each."""
    notes = []
    if shunt_ohm is not None and "current" in values:
        notes.append(
            f"the current is a voltage over {shunt_ohm:g} ohm (--shunt), whose tolerance belongs into --accuracy; "
            "what the shunt takes is part of it."
        )
    if volt is not None and "current" in values:
        notes.append(f"the supply was taken to be {volt:g} V (--volt), whose tolerance belongs into --accuracy.")
    left = unused(layout, used)
    if left:
        digital = next((BITS[one] for one in left if one in BITS), [one for one in left if re.fullmatch(r"D\d+", one)])
        hint = (
            ""
            if "marker" in used or not digital
            else "; where one is the marker, say so, such as --column D0=marker, for now the whole file is the window"
        )
        notes.append(f"columns that were not read: {', '.join(left)}{hint}.")
    return notes
