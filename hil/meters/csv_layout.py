"""Find where the readings of a CSV file begin and the names of its columns, for common power analysers and scopes.

Their headers were taken from programs that write or read them:
- PPK2: `Timestamp(ms),Current(uA),D0-D7` or `...,D0,D1,...` (pc-nrfconnect-ppk, exportChartAction.ts; its former
  `Bits` has D7 first).
- Joulescope: `#time,current,voltage,power,charge,energy`, each row a mean up to its time (pyjoulescope_ui, statistics
  to CSV), and three columns without a header (save_csv).
- Otii: one file for each channel, named after it, with `"Timestamp","Value"` (otiio, checked against Otii's own
  export).
- Rigol: `X,CH1,Start,Increment` with the time as a count, and `Time,X(CH1)`.
- Keysight InfiniiVision: `x-axis,1` and a line of units.
- Siglent SDS: settings, `Source,CH1`, `Second,Volt`.
- Tektronix: settings and `TIME,CH1`, with or without `#`, or settings to the left of the readings (TDS).
- LeCroy: `LECROY...`, segments, `Time,Ampl`.

Scopes: from readers of each in public repositories, such as ripyl's documentation.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace

from hil.errors import RigError
from hil.meters.csv_text import HEAD, CsvText
from hil.meters.csv_units import WORDS, plain_micro, symbol_of

TIMES = ("time", "timestamp", "x-axis", "second", "seconds")
PLAIN = (*TIMES, "current", "voltage", "power", "energy")  # a unit may follow these names without brackets
STATISTICS = ["time", "current", "voltage", "power", "charge", "energy"]
TDS = 3  # columns of settings to the left of the readings of a Tektronix TDS


@dataclass(frozen=True)
class CsvHead:
    """A column's name and its unit; the unit is empty if the file gives none."""

    name: str
    unit: str = ""


@dataclass(frozen=True)
class CsvLayout:
    """The layout of a file.

    Attributes:
        heads: heads of the columns; numbers from 1 if the file has no names.
        line: line of the names; 0 if there are none.
        first: first line of readings.
        beside: number of columns of settings to the left of the readings.
        steps: start and increment in seconds if the time is a count; else None.
        means: whether a reading is the mean since the time of the one before.
    """

    heads: tuple[CsvHead, ...]
    line: int
    first: int
    beside: int = 0
    steps: tuple[float, float] | None = None
    means: bool = False


def split_unit(text: str) -> CsvHead:
    """Return name and unit in a header such as `current (mA)`, `Current(uA)`, `time_ms`, `voltage [V]` or `CH1`."""
    text = plain_micro(text.strip())
    bracket = re.fullmatch(r"(.+?)[\s_]*[(\[]\s*([^()\[\]]*?)\s*[)\]]", text)
    if bracket:
        scope = re.fullmatch(r"CH\d+", bracket[2])  # Rigol writes X(CH1)
        return CsvHead(bracket[2]) if scope else CsvHead(bracket[1], WORDS.get(bracket[2].lower(), bracket[2]))
    name, _, unit = re.sub(r"[\s_]+", " ", text).rpartition(" ")
    symbol = symbol_of(unit) or (unit if name.lower() in PLAIN else "")
    return CsvHead(name, symbol) if name and symbol else CsvHead(text)


def find_layout(text: CsvText) -> CsvLayout:
    """Return the layout of a file.

    Raises:
        RigError: no line among the first HEAD holds readings or names.
    """
    head = list(itertools.islice(text.lines(), HEAD))
    rows = [(line, [cells[0].lstrip("#").strip(), *cells[1:]] if cells else cells) for line, cells in head]
    if rows and _beside(text, rows[0][1]):
        source = _setting(rows, "Source") or ["1"]
        unit = _setting(rows, "Vertical Units") or [""]
        return CsvLayout((CsvHead("time", "s"), CsvHead(source[0], unit[0])), rows[0][0], rows[0][0], TDS)
    for place, (line, cells) in enumerate(rows):
        if _names(cells):
            return _below_names(text, rows, place)
        if _numbers(text, cells) and not head[place][1][0].startswith("#"):
            before = rows[place - 1] if place else (0, [])
            if len(before[1]) == len(cells):
                return CsvLayout(tuple(split_unit(cell) for cell in before[1]), before[0], line)
            return CsvLayout(tuple(CsvHead(str(number)) for number in range(1, len(cells) + 1)), 0, line)
    raise RigError(
        f"{text.name}: none of its lines names the time and what was read: begin it with such a line, "
        "such as time,current,voltage."
    )


def _names(cells: list[str]) -> bool:
    """Whether a line names columns: a time and one more."""
    filled = [cell for cell in cells if cell]
    if [cell.lower() for cell in filled[:1] + filled[-2:]] == ["x", "start", "increment"]:
        return True
    return len(filled) > 1 and any(split_unit(cell).name.lower() in TIMES for cell in filled)


def _below_names(text: CsvText, rows: list[tuple[int, list[str]]], place: int) -> CsvLayout:
    """Return the layout of a file with a line of names. The units may be in the next line or among the settings."""
    line, cells = rows[place]
    cells = _filled(cells)
    below = rows[place + 1][1] if place + 1 < len(rows) else []
    if cells[0].lower() == "x" and cells[-1].lower() == "increment":
        return _counted(text, line, cells[:-2], _filled(below))
    heads = [split_unit(cell) for cell in cells]
    units = [WORDS.get(cell.lower(), symbol_of(cell)) for cell in _filled(below)]
    first = line + 1
    if units and all(units):
        units += [""] * len(heads)
        heads = [replace(one, unit=one.unit or unit) for one, unit in zip(heads, units, strict=False)]
        first = rows[place + 1][0] + 1
    elif all(cell.lower() in WORDS for cell in cells):  # Siglent: only units; channels are among the settings
        channels = _setting(rows[:place], "Source")
        if len(channels) != len(cells) - 1:
            channels = [str(number) for number in range(1, len(cells))]
        heads = [CsvHead(name, WORDS[cell.lower()]) for name, cell in zip(["time", *channels], cells, strict=True)]
    else:
        settings = [
            *_setting(rows[:place], "Horizontal Units")[:1],
            *_setting(rows[:place], "Vertical Units"),
        ]  # Tektronix
        if len(settings) == len(heads):
            heads = [replace(one, unit=one.unit or unit) for one, unit in zip(heads, settings, strict=True)]
    means = [head.name.lower() for head in heads] == STATISTICS and not any(head.unit for head in heads)
    return CsvLayout(tuple(heads), line, first, means=means)


def _counted(text: CsvText, line: int, names: list[str], below: list[str]) -> CsvLayout:
    """Return the layout of a Rigol file: its first column is a count; start and increment end its line of units."""
    begin, step = [text.number(cell) for cell in below[-2:]] if len(below) == len(names) + 2 else (None, None)
    if begin is None or step is None or not 0 < step < 1e6:
        raise RigError(
            f"{text.name}, line {line + 1}: it does not give the start and the step of the time: "
            "export the trace again."
        )
    heads = [
        CsvHead("time", "s"),
        *(CsvHead(name, WORDS.get(unit.lower(), unit)) for name, unit in zip(names[1:], below[1:-2], strict=True)),
    ]
    return CsvLayout(tuple(heads), line, line + 2, steps=(begin, step))


def _beside(text: CsvText, cells: list[str]) -> bool:
    return len(cells) >= TDS + 2 and cells[0].lower() == "record length" and _numbers(text, cells[TDS : TDS + 2])


def _numbers(text: CsvText, cells: list[str]) -> bool:
    cells = _filled(cells)
    return len(cells) > 1 and all(text.number(cell) is not None for cell in cells)


def _filled(cells: list[str]) -> list[str]:
    """Return the cells without the empty ones at the end, which scopes leave."""
    return cells[: max((place + 1 for place, cell in enumerate(cells) if cell), default=0)]


def _setting(rows: list[tuple[int, list[str]]], name: str) -> list[str]:
    """Return the values of a setting; empty if no line holds it."""
    return next(
        (
            _filled(cells[1:3] if cells[2:3] == [""] else cells[1:])
            for _, cells in rows
            if cells[0].lower() == name.lower()
        ),
        [],
    )
