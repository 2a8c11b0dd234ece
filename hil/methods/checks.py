"""Checks of the settings of a method: whole numbers, real numbers, words and names."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hil.errors import RigError, close_matches, shown

OF_TRIAL = {"batch", "method", "partition", "seed"}  # settings that follow from other fields of a trial


def check_numbers(settings: Any, limits: Mapping[str, tuple[int, int]]) -> None:
    """Check that settings are whole numbers within their limits, both included.

    Raises:
        RigError: one is not.
    """
    for name, (low, high) in limits.items():
        value = getattr(settings, name)
        if type(value) is not int or not low <= value <= high:  # True is an int to isinstance
            raise RigError(f"setting {name} is {shown(value)}: choose a whole number in {low}..{high}.")


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number that a float can hold; True is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def check_real(settings: Any, name: str, cure: str, fits: Callable[[float], bool]) -> None:
    """Check that a setting is a finite number that fits.

    Args:
        settings: has the setting.
        name: of the setting.
        cure: what to choose, for the sentence.
        fits: whether a finite number does.

    Raises:
        RigError: it is not.
    """
    value = getattr(settings, name)
    if not (is_number(value) and fits(value)):
        raise RigError(f"setting {name} is {shown(value)}: choose {cure}.")


def check_words(settings: Any, words: Mapping[str, tuple[str, ...]]) -> None:
    """Check that settings are among their words.

    Raises:
        RigError: one is not.
    """
    for name, known in words.items():
        value = getattr(settings, name)
        if not (isinstance(value, str) and value in known):
            raise RigError(
                f"setting {name} is {shown(value)}: {close_matches(value if isinstance(value, str) else shown(value), known)}"
            )


def check_names(given: Iterable[str], known: Iterable[str]) -> None:
    """Check that a method has all the settings that were given.

    Raises:
        RigError: it does not have one.
    """
    unknown = set(given) - set(known)
    if unknown:
        name = min(unknown)
        raise RigError(f"the method has no setting {name!r}: {close_matches(name, set(known) - OF_TRIAL)}")
