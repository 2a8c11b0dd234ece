"""Read own data from a CSV file: a header, then one sample a row; one column has the class."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from hil.bounded_npz import LARGEST
from hil.bounded_read import read_text
from hil.errors import RigError, message_of, shown
from hil.number_text import number
from hil.training.data.own.features import FilePart

MOST_NUMBERS = 1 << 26  # 512 MB in binary64
LABEL = "label"
CURE = "give a CSV in UTF-8 with a header, commas and one sample a row"


def read_part(path: Path) -> FilePart:
    """Return the samples of a file; the class is in the column `label`, or else in the last one.

    Raises:
        RigError: it is missing, too large or no CSV; a row has too many or few fields, or text for a number.
    """
    text = read_text(path, LARGEST, CURE).removeprefix("\ufeff")
    rows = _rows(text, path)
    _, header = next(rows, (1, []))
    names = [name.strip() for name in header]
    if len(names) < 2 or len(set(names)) < len(names) or "" in names or all(map(_is_number, names)):
        raise RigError(f"{path} has the header {shown(names)}: {CURE}; name every column, each differently.")
    column = names.index(LABEL) if LABEL in names else len(names) - 1
    features = [*names[:column], *names[column + 1 :]]
    labels: list[str] = []
    values: list[np.ndarray] = []
    for line, row in rows:
        if len(row) != len(names):
            raise RigError(f"{path}, line {line:,}: it has {len(row):,} fields, the header {len(names):,}: {CURE}.")
        if (len(values) + 1) * len(features) > MOST_NUMBERS:
            raise RigError(f"{path} has more than {MOST_NUMBERS:,} numbers: give fewer rows, or an .npz.")
        label = row.pop(column).strip()
        if not label:
            raise RigError(f"{path}, line {line:,}, column {names[column]!r}: it names no class: fill it in.")
        labels.append(label)
        values.append(_numbers(row, features, f"{path}, line {line:,}"))
    return FilePart("its rows", np.array(values, np.float64).reshape(len(values), len(features)), labels)


def _rows(text: str, path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows with the number of the line at which each ends. Empty lines are left out."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        yield from ((reader.line_num, row) for row in reader if row)
    except csv.Error as error:
        raise RigError(f"{path}, line {reader.line_num:,}: {message_of(error)}: {CURE}.") from error


def _numbers(row: list[str], names: list[str], place: str) -> np.ndarray:
    """Return the numbers of a row, binary64."""
    for text, name in zip(row, names, strict=True):
        if not _is_number(text):
            found = shown(text) if text.strip() else "empty"
            raise RigError(f"{place}, column {name!r}: it is {found}: give a finite number.")
    return np.array([number(text) for text in row], np.float64)


def _is_number(text: str) -> bool:
    """Return whether text is a finite number."""
    try:
        return abs(number(text)) < float("inf")
    except ValueError:
        return False
