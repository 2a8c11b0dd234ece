"""Find what each column of a CSV file holds: by its name, by the file's name, or by --column."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hil.errors import RigError, close_matches
from hil.meters.csv_layout import STATISTICS, TIMES, CsvHead, CsvLayout, split_unit
from hil.meters.csv_units import COLUMNS, VOLTAGE_V, WORDS

READ = ("current", "power", "energy")  # a file needs one of them
# PPK2: the digital inputs as one column, in the order of its characters.
BITS = {"D0-D7": range(8), "Bits": range(7, -1, -1)}
# Channels of an Otii that are read; the others begin with ADC or Sense.
OTII = re.compile(r"main (current|voltage|power)(?: - .+)?", re.IGNORECASE)
AMBIGUOUS_TIME = "timestamp"  # in seconds, milliseconds or microseconds, depending on the program that wrote it


@dataclass(frozen=True)
class CsvColumn:
    """A column: its place, the factor to SI units, and its name.

    `bit` is the place of a digital input among the characters of a cell.
    """

    place: int
    scale: float
    name: str
    bit: int | None = None


def column_meanings(texts: Sequence[str]) -> dict[str, str]:
    """Return the meanings that --column gives, by column name, from texts NAME=MEANING.

    Raises:
        RigError: a text is malformed, or two name the same column.
    """
    meanings: dict[str, str] = {}
    for text in texts:
        name, equals, meaning = (part.strip() for part in text.rpartition("="))
        if not name or not equals or split_unit(meaning).name.lower() not in COLUMNS:
            raise RigError(
                f"--column {text!r} says nothing: name a column and what it is ({', '.join(COLUMNS)}), such as "
                "--column 'CH1=current (mA)'."
            )
        if name in meanings:
            raise RigError(f"--column names {name!r} twice: keep one of them.")
        meanings[name] = meaning
    return meanings


def find_columns(
    name: str, layout: CsvLayout, meanings: Mapping[str, str], shunt_ohm: float | None
) -> dict[str, CsvColumn]:
    """Return the column of each kind of number.

    Args:
        name: of the file; Otii names its files after the channel.
        layout: of the file.
        meanings: meanings of columns that the user gives, by column name.
        shunt_ohm: the column of the current holds a voltage, to be divided by this; None if it holds a current.

    Raises:
        RigError: a necessary column is missing or occurs twice, or has a wrong unit.
    """
    where = f"{name}, line {layout.line}" if layout.line else name
    chosen = {}
    for column, meaning in meanings.items():
        place, bit = _place(where, layout.heads, column)
        head = split_unit(meaning)
        kind, own = head.name.lower(), layout.heads[place].unit
        if head.unit and own and head.unit != own:
            raise RigError(
                f"{where}: column {column!r} is in {own} by its head and in {head.unit} by --column: leave the unit "
                "out of --column, or correct the head of the file."
            )
        unit = head.unit or own
        if kind in chosen:
            raise RigError(f"{where}: two columns are said to be the {kind}: keep one --column of them.")
        chosen[kind] = CsvColumn(place, _scale(where, kind, unit, column, shunt_ohm), column, bit)
    columns = _by_name(where, name, layout, shunt_ohm, chosen) | chosen
    _require(where, layout, columns)
    return columns


def _by_name(
    where: str, file: str, layout: CsvLayout, shunt_ohm: float | None, chosen: Mapping[str, CsvColumn]
) -> dict[str, CsvColumn]:
    """Return the columns that are recognised by their names.

    Columns that the user has chosen are left out, and so are kinds that those make unnecessary.
    """
    found: dict[str, CsvColumn] = {}
    places = {one.place for one in chosen.values()}
    needless = {*chosen, *(READ if chosen.keys() & {*READ} else ())}
    for place, head in enumerate(layout.heads):
        kind = None if place in places else _kind(where, file, layout, head)
        if kind is None or kind in needless:
            continue
        if kind in found:
            if layout.heads[found[kind].place] == head:
                raise RigError(
                    f"{where}: two columns have the name {head.name!r}: rename the one that is not the {kind} in the "
                    "head of the file."
                )
            raise RigError(f"{where}: a column occurs twice: {found[kind].name!r} and {head.name!r}; say which "
                           f"is the {kind}, such as --column '{head.name}={kind}'.")  # fmt: skip
        found[kind] = CsvColumn(place, _scale(where, kind, head.unit, head.name, shunt_ohm), head.name)
    return found


def _kind(where: str, file: str, layout: CsvLayout, head: CsvHead) -> str | None:
    """Return what a column holds according to its name; None if the name does not say."""
    name = head.name.lower()
    if layout.means:  # Joulescope: power suffices, and energy where rows are missing
        return name if name in ("time", "power", "voltage", "energy") else None
    if name in TIMES:
        if name == AMBIGUOUS_TIME and not head.unit and not any(_otii(file, one) for one in layout.heads):
            raise RigError(f"{where}: {head.name!r} has no unit: say which, such as --column '{head.name}=time (ms)'.")
        return "time"
    if name in COLUMNS:
        return name
    return _otii(file, head)


def _otii(file: str, head: CsvHead) -> str | None:
    """Return what a column of an Otii's export holds: by a channel's name, or for `Value` by the file's name."""
    found = OTII.fullmatch(Path(file).stem if head.name.lower() == "value" else head.name)
    return found[1].lower() if found else None


def _place(where: str, heads: Sequence[CsvHead], column: str) -> tuple[int, int | None]:
    """Return the place of a column by its name, and for a digital input, its place among the characters of the cell."""
    for place, head in enumerate(heads):
        if head.name.lower() == column.lower():
            return place, None
    for place, head in enumerate(heads):
        if head.name in BITS and re.fullmatch(r"D[0-7]", column, re.IGNORECASE):
            return place, BITS[head.name][int(column[1])]
    raise RigError(
        f"{where}: there is no column {column!r} for --column: {close_matches(column, [head.name for head in heads])}"
    )


def _scale(where: str, kind: str, unit: str, column: str, shunt_ohm: float | None) -> float:
    """Return the factor from a column's unit to SI units."""
    if kind == "marker":
        return COLUMNS[kind].get(unit, 1.0)  # an analogue channel may be in volts
    if kind == "current" and shunt_ohm is not None:
        if unit and unit not in VOLTAGE_V:
            raise RigError(f"{where}: {column!r} is in {unit}, not the voltage of a shunt: leave --shunt out.")
        return VOLTAGE_V[unit or "V"] / shunt_ohm
    units = COLUMNS[kind]
    if unit and unit not in units:
        cure = (
            "give its ohms (volts per ampere) with --shunt"
            if kind == "current" and unit in VOLTAGE_V
            else f"use {', '.join(units)}"
        )
        raise RigError(f"{where}: {unit!r} is not a unit of {kind} (column {column!r}): {cure}.")
    return units[unit] if unit else next(iter(units.values()))


def _require(where: str, layout: CsvLayout, columns: Mapping[str, CsvColumn]) -> None:
    """Check that the columns make a trace.

    Raises:
        RigError: the time is missing, or there is not exactly one of current, power and energy (or current and power).
    """
    kinds = [kind for kind in READ if kind in columns]
    there = ", ".join(f"{head.name} ({head.unit})" if head.unit else head.name for head in layout.heads)
    if "time" not in columns:
        raise RigError(
            f"{where}: none of its columns {there} is said to be the time: say which, such as "
            f"--column '{layout.heads[0].name}=time (s)'."
        )
    if not kinds:
        free = [head for place, head in enumerate(layout.heads) if place not in {one.place for one in columns.values()}]
        one = free[0] if free else CsvHead("NAME")
        unit = one.unit or WORDS.get(one.name.lower(), "")
        means = (
            "current --shunt OHMS"
            if unit in VOLTAGE_V
            else next((kind for kind in READ if unit in COLUMNS[kind]), "current")
        )
        raise RigError(
            f"{where}: none of its columns {there} is said to be current, power or energy: say which, such as "
            f"--column {one.name}={means}."
        )
    if len(kinds) > 1 and kinds != ["current", "power"] and not layout.means:
        raise RigError(
            f"{where}: {' and '.join(kinds)} may contradict each other: keep one of them, such as by "
            f"--column {kinds[-1]}={kinds[-1]}."
        )


def unused(layout: CsvLayout, columns: Mapping[str, CsvColumn]) -> list[str]:
    """Return the names of the columns that are not read."""
    used = {one.place for one in columns.values()}
    return [
        head.name
        for place, head in enumerate(layout.heads)
        if place not in used and not (layout.means and head.name in STATISTICS)
    ]
