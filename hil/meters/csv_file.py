"""Read a power trace from a CSV file of another program."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from hil.energy.capture import Capture, Edge, edge_between
from hil.energy.current_ranges import peak_current
from hil.errors import RigError
from hil.meters.csv_columns import BITS, Column, changes, find_columns, unused
from hil.meters.csv_layout import Layout, find_layout
from hil.meters.csv_text import CLOCK, LARGEST, CsvText
from hil.meters.reading_checks import missing

DAY_S = 86_400.0
LEVELS = {"0": 0.0, "1": 1.0}  # characters of a digital input; any other one is an unknown level
UNKNOWN = ("-", "X")  # PPK2: the input has no level, or had both
# Of the interval: if the median deviation of the spacing is smaller, readings lie on a grid, and a gap is a loss.
REGULAR = 0.01
SHORTEST_S = 1e-12  # shortest interval


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
    values, lines = _values(text, layout, used)
    times = _times(text.name, layout, used["time"], values["time"], lines)
    edges = _edges(text.name, times, values.get("marker"), debounce_s)
    capture = replace(_capture(text.name, layout, times, values, volt), edges=edges)
    for note in _notes(layout, used, shunt_ohm, volt if "voltage" not in values else None, values):
        capture = capture.noted(note)
    return capture


def _values(text: CsvText, layout: Layout, used: Mapping[str, Column]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the numbers of each kind in SI units, float64[n], and their lines; an unknown marker is NaN."""
    kept, lines = {kind: array("d") for kind in used}, array("q")
    width, beside = len(layout.heads), layout.beside
    clock = False
    for line, cells in text.lines():
        if line < layout.first or cells[0].startswith("#"):
            continue
        row = cells[beside:]
        if len(row) < width or any(row[width:]):
            raise text.mistake(line, cells[beside:], width)
        for kind, column in used.items():
            cell = row[column.place] if column.bit is None else row[column.place][column.bit : column.bit + 1]
            number = text.number(cell) if column.bit is None else LEVELS.get(cell, math.nan)
            if number is None and kind == "marker" and cell in UNKNOWN:
                number = math.nan
            elif number is None:
                raise text.mistake(line, row, width)
            elif column.bit is None and not abs(number) < LARGEST:
                why = "is not finite" if not math.isfinite(number) else "is too large for a reading"
                raise RigError(f"{text.name}, line {line}: a value {why}: delete the line.")
            kept[kind].append(number)
        clock = clock or CLOCK.fullmatch(row[used["time"].place]) is not None
        lines.append(line)
    values = {
        kind: np.frombuffer(numbers, np.float64) * used[kind].scale if len(numbers) else np.empty(0)
        for kind, numbers in kept.items()
    }
    if clock:
        values["time"][1:] += DAY_S * np.cumsum(np.diff(values["time"]) < -DAY_S / 2)  # midnight
    return values, np.array(lines, np.int64)


def _times(name: str, layout: Layout, column: Column, read: np.ndarray, lines: np.ndarray) -> np.ndarray:
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


def _capture(
    name: str, layout: Layout, times: np.ndarray, values: Mapping[str, np.ndarray], volt: float | None
) -> Capture:
    """Return the readings without edges. The largest current substitutes the unknown range."""
    interval = float(np.median(np.diff(times)))
    lost = (
        missing(times, interval) if float(np.median(np.abs(np.diff(times) - interval))) <= REGULAR * interval else None
    )
    volts = values.get("voltage", np.full(len(times), volt if volt is not None else np.nan))
    if "energy" in values or layout.means:
        power = np.diff(values["energy"]) / np.diff(times) if "energy" in values else values["power"][1:]
        amps = power / volts[1:]
        return Capture(
            times[:-1], power, amps, volts[1:], interval, interval, (), peak_current(amps), None, ends_s=times[1:]
        )
    if "power" in values:
        amps = values.get("current", values["power"] / volts)
        return Capture(times, values["power"], amps, volts, 0.0, interval, (), peak_current(amps), lost)
    if np.isnan(volts).any():
        raise RigError(
            f"{name}: current alone is not power: give the supply voltage with --volt, or the column that holds it "
            "with --column NAME=voltage."
        )
    amps = values["current"]
    return Capture(times, amps * volts, amps, volts, 0.0, interval, (), peak_current(amps), lost)


def _edges(name: str, times: np.ndarray, marker: np.ndarray | None, debounce_s: float | None) -> tuple[Edge, ...]:
    """Return the edges of the marker, or start and end of a file without one.

    Raises:
        RigError: the marker does not change, or changes more than twice without `debounce_s`.
    """
    if marker is None:
        return Edge(float(times[0]), 0.0, True), Edge(float(times[-1]), 0.0, False)
    known = np.isfinite(marker)
    if not known.any():
        raise RigError(
            f"{name}: its marker is not known in any line: switch the digital inputs on, and record it again."
        )
    below, above, high = changes(marker, known)
    begins, ends = times[below], times[above]
    spans = [(float(a), float(b), bool(c)) for a, b, c in zip(begins, ends, high, strict=True)]
    edges = debounced(spans, debounce_s or 0.0)
    if len(edges) < 2:
        raise RigError(
            f"{name}: its marker changes {len(edges)} times: name the column that goes up where the work begins "
            "and down where it ends."
        )
    if len(edges) > 2 and debounce_s is None:
        shortest = min(after.t_s - before.t_s for before, after in pairwise(edges))
        raise RigError(
            f"{name}: its marker changes {len(edges)} times, at least {shortest:.3g} s apart: cut the file to one "
            "window, or say with --debounce below how many seconds a pulse is bounce (0: the first two changes count)."
        )
    return edges


def debounced(spans: list[tuple[float, float, bool]], debounce_s: float) -> tuple[Edge, ...]:
    """Return the edges of a marker without its bounce.

    Changes within `debounce_s` of each other are one edge, anywhere between the first and the last of them, if the
    level after them differs from the level before; otherwise they are none.

    Args:
        spans: for each change, its earliest and latest time in seconds, and the level after it.
        debounce_s: 0 for no bounce.
    """
    groups: list[list[tuple[float, float, bool]]] = []
    for span in spans:
        if groups and span[0] - groups[-1][-1][1] < debounce_s:
            groups[-1].append(span)
        else:
            groups.append([span])
    kept = [group for group in groups if len(group) % 2]
    return tuple(edge_between(group[0][0], group[-1][1], high=group[-1][2]) for group in kept)


def _notes(
    layout: Layout,
    used: Mapping[str, Column],
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
