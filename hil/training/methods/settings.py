"""The settings that methods.toml describes: checks of values, and the request `configure` that sends them."""

from __future__ import annotations

import struct
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from hil.bounded_read import SMALL_TEXT, read_toml
from hil.errors import RigError, close_matches, shown
from hil.training.methods.acting import Need

FILE = Path(__file__).with_name("methods.toml")
COMMON = "common"  # the table of the settings that every method has
LOOPS = "loops"  # the tables of the training loops
FACTS = "facts"  # what network and settings decide together, for `acts_with`
DEFAULTS = "defaults"  # the settings that a trial takes by method and format (default_rates.py)
FORMATS = {"u8": "B", "u16": "H", "u32": "I", "f32": "f"}
OF_TRIAL = {"batch", "method", "partition", "seed"}  # settings that follow from other fields of a trial
Chosen = TypeVar("Chosen", bound="MethodSettings")


@dataclass(frozen=True)
class MethodSetting:
    """One setting; methods.toml explains the fields. `numbers` has those of the words on the link.

    `acts_with` is what the setting needs to have an effect: everything of it.
    """

    name: str
    doc: str
    numbers: tuple[int, ...]
    type: str = "u8"
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
    acts_with: tuple[Need, ...] = ()

    def check(self, value: Any) -> None:
        """Raise RigError for a value that cannot be chosen."""
        problem = f"setting {self.name} is {shown(value)}"
        if self.words:
            if not (isinstance(value, str) and value in self.words):
                raise RigError(
                    f"{problem}: {close_matches(value if isinstance(value, str) else shown(value), self.words)}"
                )
        elif self.limits is not None:
            low, high = self.limits
            if type(value) is not int or not low <= value <= high:  # True is an int to isinstance
                raise RigError(f"{problem}: choose a whole number in {low}..{high}.")
        elif not (is_number(value) and self._in_range(value)):
            raise RigError(f"{problem}: choose {self.range}.")

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
        """Return a value as the link has it: a word by its number, and -0.0 as 0.0, whose bits are within limits."""
        return self.numbers[self.words.index(value)] if self.words else value + 0


@cache
def described(table: str) -> dict[str, MethodSetting]:
    """Return the settings of a table of methods.toml by name; those of `common` with what the table changes."""
    found = {}
    for name, own in _tables()[table].items():
        common = _tables()[COMMON].get(name, {})
        rows = {**common, **own}
        its: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in rows.items()}
        words = its["words"] = _words(its, table)
        all_words = _words(common, COMMON) or words
        its["acts_with"] = tuple(Need.of(other, condition) for other, condition in its.get("acts_with", {}).items())
        found[name] = MethodSetting(name, numbers=tuple(all_words.index(word) for word in words), **its)
    return found


def _words(its: Mapping[str, Any], table: str) -> tuple[str, ...]:
    """Return the words of a setting; `"loops"` stands for the loops that have the settings of the table."""
    words = its.get("words", ())
    if words != LOOPS:
        return tuple(words)
    return loops_of(table)


def loops_of(table: str) -> tuple[str, ...]:
    """Return the names of the training loops that have the settings of a table."""
    return tuple(name for name, loop in _tables()[LOOPS].items() if table in (COMMON, loop["settings"]))


@cache
def only(loop: str) -> dict[str, tuple[Any, str]]:
    """Return the settings of which a training loop takes one value: this value, and the reason."""
    return {name: (value, reason) for name, (value, reason) in _tables()[LOOPS][loop].get("only", {}).items()}


def facts() -> dict[str, tuple[str, str]]:
    """Return what network and settings decide together by name: what a need of it means, and what to choose for it."""
    return {name: (meaning, choice) for name, (meaning, choice) in _tables()[FACTS].items()}


def meaning(need: Need) -> str:
    """Return a need in words."""
    return facts()[need.name][0] if need.name in facts() else str(need)


def setting_tables() -> tuple[str, ...]:
    """Return the names of the tables that have the settings of methods."""
    return tuple(name for name in _tables() if name not in (COMMON, LOOPS, FACTS, DEFAULTS))


def defaults(method: str) -> tuple[Mapping[str, Any], ...]:
    """Return the rows of `[defaults]` of a method; default_rates.py reads them."""
    return tuple(_tables()[DEFAULTS].get(method, ()))


@cache
def _tables() -> dict[str, Any]:
    """Return methods.toml."""
    return read_toml(FILE, SMALL_TEXT, "install trainrig again")[1]


def sent(table: Mapping[str, MethodSetting]) -> dict[str, MethodSetting]:
    """Return the settings of the request `configure` for a table, by name in their order there."""
    return {**described(COMMON), **table}


def configure_fields(table: Mapping[str, MethodSetting], numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the request `configure` from the values of `sent(table)` as the link has them."""
    kinds = "".join(FORMATS[setting.type] for setting in sent(table).values())
    body = struct.pack(f"<{kinds}", *(numbers[name] for name in sent(table)))
    return {"method": body[0], "settings": body[1:]}


class MethodSettings:
    """The base of the settings of a method: a frozen dataclass whose fields are those of its table of descriptions."""

    table: ClassVar[Mapping[str, MethodSetting]]

    def __post_init__(self) -> None:
        for name, setting in self.table.items():
            setting.check(getattr(self, name))
        self.check_together()

    def check_together(self) -> None:
        """Raise RigError for settings that do not go together."""

    def unmet(self, name: str, of_network: Mapping[str, Any]) -> Need | None:
        """Return what is missing for a setting to have an effect, the first of it; None where it acts.

        `of_network` has the facts of the method on its network.
        """
        values = {other: getattr(self, other) for other in self.table} | dict(of_network)
        return next((need for need in self.table[name].acts_with if not need.holds(values)), None)

    def check_effects(
        self, given: Collection[str], of_network: Mapping[str, Any], of_variant: Iterable[str] = ()
    ) -> None:
        """Raise RigError for a setting that somebody gave, and that has no effect beside the others.

        One of the variant may have none on a small network; it is refused where a given setting takes its effect.
        """
        for name in dict.fromkeys((*given, *of_variant)):
            need = self.unmet(name, of_network)
            if need is None or (name not in given and need.name not in given):
                continue
            if need.name in facts():
                beside, cure = "", f"choose {facts()[need.name][1]}"
            else:
                beside, cure = f" with {need.name} = {shown(getattr(self, need.name))}", f"change {need.name}"
            raise RigError(
                f"setting {name} is {shown(getattr(self, name))}{beside}, where it has no effect: it acts where "
                f"{meaning(need)}, leave it out or {cure}."
            )

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

    def request_fields(self, method: str, slots: int, first_step: int) -> dict[str, Any]:
        """Return the fields of the request `configure` for a training loop, so many slots and the next step."""
        chosen = {name: getattr(self, name) for name in self.table}
        values = {"method": method, "slots": slots, "first_step": first_step} | chosen
        return configure_fields(
            self.table, {name: setting.number(values[name]) for name, setting in sent(self.table).items()}
        )

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
