"""Checks of type and range of a trial's fields.

`of` is the class of the fields. Each raises RigError with the field, its value and the allowed values.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from hil.errors import RigError, close_matches, shown
from hil.refusals import noticed
from hil.training.methods.settings import is_number

T = TypeVar("T")

STEPS = 2**32 - 1  # the index of a step has 32 bits on the line (docs/link.md)
LONGEST_NAME = 100  # characters; names of boards, networks and methods are in names of folders
LONGEST_PATH = 4096  # characters of a path


def one_sentence(kind: type[T]) -> type[T]:
    """Make a dataclass raise RigError instead of TypeError for an unknown or missing field; its errors are noticed."""
    build: Callable[..., None] = kind.__init__
    signature = inspect.signature(kind)

    @noticed
    @functools.wraps(build)
    def checked(self: Any, *given: Any, **named: Any) -> None:
        for name in named:
            if name not in signature.parameters:
                raise RigError(f"{kind.__name__} has no field {name!r}: {close_matches(name, signature.parameters)}")
        try:
            signature.bind(*given, **named)
        except TypeError as error:
            raise RigError(f"{kind.__name__}: {error}: give its fields by name.") from None
        build(self, *given, **named)

    kind.__init__ = checked  # type: ignore[method-assign]  # the fields stay those of the dataclass
    return kind


def check_whole(of: str, values: Mapping[str, Any], limits: Mapping[str, tuple[int, int]]) -> None:
    """Check that fields are whole numbers within their limits, both included; True and 5.0 are none."""
    for name, (low, high) in limits.items():
        value = values[name]
        if type(value) is not int or not low <= value <= high:
            raise RigError(f"{of}: {name} is {shown(value)}: choose a whole number in {low:,}..{high:,}.")


def check_shares(of: str, values: Mapping[str, Any]) -> None:
    """Check that fields are numbers above 0 and below 1, or None."""
    for name, value in values.items():
        if value is not None and not (is_number(value) and 0 < value < 1):
            raise RigError(f"{of}: {name} is {shown(value)}: choose a number above 0 and below 1, or None.")


def check_names(of: str, values: Mapping[str, Any], most: int = LONGEST_NAME) -> None:
    """Check that fields are text of 1 to `most` characters."""
    for name, value in values.items():
        if not isinstance(value, str) or not value:
            raise RigError(f"{of}: {name} is {shown(value)}: give a name as text.")
        if len(value) > most:
            raise RigError(f"{of}: {name} is {shown(value)}: give a name of at most {most} characters.")


def check_word(of: str, name: str, value: Any, known: tuple[Any, ...]) -> None:
    """Check that a field has one of the known values."""
    if not any(isinstance(value, type(word)) and value == word for word in known):  # 1 == True
        raise RigError(f"{of}: {name} is {shown(value)}: {close_matches(shown(value), map(repr, known))}")


def check_kind(of: str, name: str, value: Any, kind: type | tuple[type, ...], cure: str) -> None:
    """Check that a field is an instance of a type; `cure` says what to give."""
    if not isinstance(value, kind):
        raise RigError(f"{of}: {name} is {shown(value)}: {cure}.")
