"""The settings that methods.toml describes, and the checks of values against their descriptions."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from hil.bounded_read import SMALL_TEXT, read_toml
from hil.errors import RigError, close_matches, shown

FILE = Path(__file__).with_name("methods.toml")
OF_TRIAL = {"batch", "method", "partition", "seed"}  # settings that follow from other fields of a trial
Chosen = TypeVar("Chosen", bound="MethodSettings")


@dataclass(frozen=True)
class Setting:
    """One setting; methods.toml explains the fields."""

    name: str
    type: str
    doc: str
    default: Any = None
    unit: str = ""
    words: tuple[str, ...] = ()
    limits: tuple[int, int] | None = None
    range: str = ""
    above: float | None = None
    least: float | None = None
    most: float | None = None
    below: float | None = None
    scheduled: bool = False
    flag: int = 0

    def check(self, value: Any) -> None:
        """Raise RigError for a value that cannot be chosen."""
        said = f"setting {self.name} is {shown(value)}"
        if self.words:
            if not (isinstance(value, str) and value in self.words):
                raise RigError(
                    f"{said}: {close_matches(value if isinstance(value, str) else shown(value), self.words)}"
                )
        elif self.limits is not None:
            low, high = self.limits
            if type(value) is not int or not low <= value <= high:  # True is an int to isinstance
                raise RigError(f"{said}: choose a whole number in {low}..{high}.")
        elif not (is_number(value) and self._in_range(value)):
            raise RigError(f"{said}: choose {self.range}.")

    def _in_range(self, value: float) -> bool:
        """Return whether a finite number, and what it is in binary32, are within the bounds."""
        with np.errstate(over="ignore", under="ignore"):
            numbers = (value, float(np.float32(value)))
        return (
            (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and all(self.above is None or number > self.above for number in numbers)
            and all(self.below is None or number < self.below for number in numbers)
        )

    def number(self, value: Any) -> Any:
        """Return a value as the link has it: a word by its number."""
        return self.words.index(value) if self.words else value


@cache
def described(table: str) -> dict[str, Setting]:
    """Return the settings of a table of methods.toml by name."""
    found = {}
    for name, its in _tables()[table].items():
        fields: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in its.items()}
        found[name] = Setting(name, **fields | ({"words": tuple(loops())} if its.get("words") == "loops" else {}))
    return found


@cache
def loops() -> dict[str, dict[str, tuple[Any, str]]]:
    """Return the training loops of `configure_graph` by name, in the order of their numbers.

    Each has the settings of which it takes one value: this value, and the reason.
    """
    return {
        loop: {name: (value, reason) for name, (value, reason) in its.get("only", {}).items()}
        for loop, its in _tables()["loops"].items()
    }


@cache
def _tables() -> dict[str, Any]:
    """Return methods.toml."""
    return read_toml(FILE, SMALL_TEXT, "install trainrig again")[1]


class MethodSettings:
    """The base of the settings of a method: a frozen dataclass whose fields are those of a table.

    Class attributes:
        table: the descriptions by name.
    """

    table: ClassVar[Mapping[str, Setting]]

    def __post_init__(self) -> None:
        for name, setting in self.table.items():
            setting.check(getattr(self, name))
        self.check_together()

    def check_together(self) -> None:
        """Raise RigError for settings that do not go together."""

    def changed(self: Chosen, **changes: Any) -> Chosen:
        """Return the settings after a change of the schedule.

        Raises:
            RigError: a setting that holds for a whole trial, or a value out of range.
        """
        scheduled = tuple(name for name, setting in self.table.items() if setting.scheduled)
        for name in changes:
            if name not in scheduled:
                raise RigError(f"the schedule cannot change {name!r}: {close_matches(name, scheduled)}")
        return replace(self, **changes)  # type: ignore[type-var]

    def request_fields(self) -> dict[str, Any]:
        """Return the settings as the fields of their request, those with a flag as bits of `flags`."""
        numbers = {name: setting.number(getattr(self, name)) for name, setting in self.table.items()}
        flags = {name: setting.flag for name, setting in self.table.items() if setting.flag}
        found = {name: number for name, number in numbers.items() if name not in flags}
        return found | ({"flags": sum(bit * numbers[name] for name, bit in flags.items())} if flags else {})

    @classmethod
    def check_names(cls, given: Iterable[str]) -> None:
        """Raise RigError for a name that is no setting of the method."""
        unknown = set(given) - set(cls.table)
        if unknown:
            name = min(unknown)
            raise RigError(f"the method has no setting {name!r}: {close_matches(name, set(cls.table) - OF_TRIAL)}")


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number that a float can hold; True is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
