"""What two files of a record, or two fields of one file, say differently of the same thing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hil.errors import RigError, printable

LONGEST = 80  # characters of a value: a SHA-256 is whole
NOTHING = object()  # the value of a field or a file that is not there


@dataclass(frozen=True)
class Contradiction:
    """Two values that cannot both be true.

    Attributes:
        file: path in the folder of the run, such as `results.json`.
        field: path of the value in it, or what of the file it is, such as `its rows`.
        value: in words.
        other: what contradicts it: another file, or another field.
        expected: the value there, in words.
        trial: folder of the trial; empty if it is one of the whole run.
    """

    file: str
    field: str
    value: str
    other: str
    expected: str
    trial: str = ""

    @property
    def sentence(self) -> str:
        """The contradiction in one clause with the place and both values, without a full stop."""
        named = self.trial in self.file + self.field + self.other
        field = self.field if named else f"{self.field} of {self.trial}"
        return printable(f"{self.file}: {field} is {self.value}, but {self.other} has {self.expected}")

    def to_json(self) -> dict[str, str]:
        """Return the fields and the sentence for JSON."""
        return {**vars(self), "sentence": f"{self.sentence}."}


def differ(file: str, field: str, value: Any, other: str, expected: Any, trial: str = "") -> Contradiction:
    """Return a contradiction of two values of any type; NOTHING stands for one that is not there."""
    return Contradiction(file, field, in_words(value), other, in_words(expected), trial)


def in_words(value: Any) -> str:
    """Return a value for a sentence, cut if it is long."""
    if value is NOTHING:
        return "missing"
    text = ascii(value) if not isinstance(value, (dict, list)) else f"a {type(value).__name__} of {len(value)}"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


class Contradicted(RigError):
    """A record contradicts itself, so that no reader believes it.

    Attributes:
        found: every contradiction.
    """

    def __init__(self, folder: Path, found: Sequence[Contradiction]) -> None:
        more = f" (and {len(found) - 1:,} more)" if len(found) > 1 else ""
        super().__init__(
            f"{folder} contradicts itself: {found[0].sentence}{more}: do not trust this record; "
            "`hil verify` lists every check of it."
        )
        self.found = tuple(found)
