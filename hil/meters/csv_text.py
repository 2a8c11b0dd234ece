"""Read the text of a CSV file: its encoding, its delimiter, and the cells of its lines."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

from hil.bounded_read import take
from hil.errors import RigError
from hil.number_text import number

LONGEST = 256 << 20  # of a file: 10 million lines of time and current
HEAD = 100  # lines that may come before the readings: scopes write up to 30 about their settings
DELIMITERS = ";\t,"  # the first one wins a tie: a comma may then be the decimal separator
CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")
CLOCK = re.compile(r"\s*(\d{1,2}):(\d{2}):(\d{2}(?:[.,]\d+)?)\s*")  # a time of day
LARGEST = 1e15  # largest number in any unit: a larger one is no reading, and sums of squares stay finite
SHOWN = 60  # characters of a line in a message


class CsvText:
    """The lines of a file as cells.

    Args:
        path: of the file.

    Raises:
        RigError: the file is missing, not a file, unreadable, binary or empty.
    """

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._signs: dict[str, tuple[int, str]] = {}  # by decimal sign: line and cell of its first number
        self._text = _decoded(path)
        head = [line for line in self._text.splitlines()[:HEAD] if line.strip()]
        if not head:
            raise RigError(f"{self.name} is empty: export the trace again.")
        self.delimiter = max(DELIMITERS, key=lambda one: sum(one in line for line in head))

    def lines(self) -> Iterator[tuple[int, list[str]]]:
        """Yield line number, from 1, and cells of each line that is not blank. Runs of white space become one space.

        Raises:
            RigError: a quotation mark in a line is not closed.
        """
        reader = csv.reader(io.StringIO(self._text, newline=None), delimiter=self.delimiter, skipinitialspace=True)
        read = 0
        try:
            for row in reader:
                if reader.line_num > read + 1:
                    raise csv.Error("a quotation mark does not close")
                read += 1
                cells = [" ".join(cell.split()) for cell in row]
                if any(cells):
                    yield read, cells
        except csv.Error as error:
            raise RigError(
                f"{self.name}, line {read + 1}: it is not a row of a table ({error}): correct the line."
            ) from error

    def number(self, cell: str) -> float | None:
        """Return a cell's number, or a time of day in seconds, or None. A comma may be the decimal separator.

        It is one if the delimiter is another character.
        """
        try:
            return number(cell.replace(",", ".") if self.delimiter != "," else cell)
        except ValueError:
            clock = CLOCK.fullmatch(cell)
            return 3600 * int(clock[1]) + 60 * int(clock[2]) + float(clock[3].replace(",", ".")) if clock else None

    def require_one_sign(self, line: int, cell: str) -> None:
        """Check that the decimal sign of a number is that of the numbers before it: 20.000 may be 20 or 20,000.

        Raises:
            RigError: one number has a point, and another one a comma.
        """
        sign = "," if "," in cell else "." if "." in cell else ""
        first = self._signs.setdefault(sign, (line, cell)) if sign else None
        if first is not None and len(self._signs) > 1:
            before, (there, other) = next((key, found) for key, found in self._signs.items() if key != sign)
            words = {",": "comma", ".": "point"}
            raise RigError(
                f"{self.name}, line {line}: {cell!r} has a {words[sign]}, and {other!r} in line {there} a "
                f"{words[before]}: export the numbers with one decimal sign and no thousands separator."
            )

    def mistake(self, line: int, cells: list[str], count: int) -> RigError:
        """Return the error of a line that does not hold `count` numbers."""
        text = ", ".join(cells)
        text = text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
        return RigError(f"{self.name}, line {line}: {text!r} is not {count} numbers: correct or delete the line.")


def _decoded(path: Path) -> str:
    """Return the text of UTF-8, UTF-16 with a byte order mark, or else Latin-1, which scopes use for micro signs."""
    try:
        with path.open("rb") as file:
            data = take(file, LONGEST, str(path), "export a shorter stretch")
    except FileNotFoundError:
        raise RigError(f"there is no file {path}: name the CSV file with --csv.") from None
    except OSError as error:
        raise RigError(f"{path} cannot be read ({error.strerror}): name a CSV file with --csv.") from error
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    for encoding in ("utf-16",) if wide else ("utf-8-sig", "latin-1"):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if not CONTROL.search(text):
            return text
    raise RigError(f"{path.name} is not text: export the trace as CSV, and name that file with --csv.")
