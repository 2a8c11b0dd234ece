"""SCPI syntax: headers in long and short form, parameters, settings, error codes (SCPI-99, volume 1; IEEE 488.2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Generic, TypeVar

T = TypeVar("T")

ERRORS = {
    -104: "Data type error", -109: "Missing parameter", -113: "Undefined header", -222: "Parameter data out of range",
    -224: "Illegal parameter value", 1115: "Parameter error: TRACe:MAKE cannot take an existing reading buffer name",
}  # fmt: skip


class ScpiError(Exception):
    """A command was refused; `code` goes into the error queue."""

    def __init__(self, code: int) -> None:
        super().__init__(ERRORS[code])
        self.code = code


def words(argument: str) -> list[str]:
    """Return the parameters of a command, without quotes."""
    return [word.strip().strip("\"'") for word in argument.split(",")] if argument else []


def number(argument: str, low: float, high: float) -> float:
    """Parse a number.

    Raises:
        ScpiError: the number is missing, not a number, or outside `low` to `high`.
    """
    if not argument:
        raise ScpiError(-109)
    try:
        value = float(argument)
    except ValueError as error:
        raise ScpiError(-104) from error
    if not low <= value <= high:
        raise ScpiError(-222)
    return value


def switch(argument: str) -> bool:
    """Return whether an argument is `ON` or `1`.

    Raises:
        ScpiError: the argument is none of ON, OFF, 1 and 0.
    """
    if argument.upper() not in ("0", "1", "ON", "OFF"):
        raise ScpiError(-104 if argument else -109)
    return argument.upper() in ("1", "ON")


def between(low: float, high: float) -> Callable[[str], float]:
    """Return a parser of numbers from `low` to `high`."""
    return partial(number, low=low, high=high)


def whole(low: float, high: float) -> Callable[[str], int]:
    """Return a parser of whole numbers from `low` to `high`."""
    return lambda argument: int(number(argument, low, high))


def choice(known: Mapping[str, T], refusal: int = -224) -> Callable[[str], T]:
    """Return a parser of words, with or without quotes.

    Args:
        known: value of each word by its name in the notation of manuals.
        refusal: error code for another word.
    """
    spellings = [(pattern(name), value) for name, value in known.items()]

    def parse(argument: str) -> T:
        word = argument.strip("\"'")
        for spelling, value in spellings:
            if spelling.fullmatch(word):
                return value
        raise ScpiError(refusal if word else -109)

    return parse


class ScpiSetting(Generic[T]):
    """A setting of an instrument. Its command calls it with the argument.

    Args:
        preset: value after *RST.
        parse: returns the value of an argument; raises ScpiError if it has none.
    """

    def __init__(self, preset: T, parse: Callable[[str], T]) -> None:
        self._preset, self._parse = preset, parse
        self.value = preset

    def __call__(self, argument: str) -> None:
        self.value = self._parse(argument)

    def restore(self) -> None:
        """Set the value after *RST."""
        self.value = self._preset

    def answer(self, form: str) -> Callable[[str], str]:
        """Return the action of its query, which answers the value in a format."""
        return lambda _: format(self.value, form)


class RangeSetting(ScpiSetting[float]):
    """A range of current: the smallest one with the wanted current. Setting one turns automatic ranging off.

    Args:
        ranges: nominal values [A], ascending; the last one is set after *RST.
        over: a range is taken up to this multiple of its nominal value.
    """

    def __init__(self, ranges: tuple[float, ...], over: float = 1.0) -> None:
        super().__init__(ranges[-1], lambda argument: self._smallest(number(argument, 0, ranges[-1] * over), over))
        self._ranges = ranges
        self.auto = ScpiSetting(True, switch)

    def __call__(self, argument: str) -> None:
        super().__call__(argument)
        self.auto.value = False

    def restore(self) -> None:
        super().restore()
        self.auto.restore()

    def follow(self, peak: float, over: float = 1.0) -> None:
        """Set the smallest range that reads a current [A] up to `over` times its nominal value, or the largest."""
        self.value = self._smallest(peak, over)

    def _smallest(self, current: float, over: float) -> float:
        return next((one for one in self._ranges if current <= one * over), self._ranges[-1])


def pattern(header: str) -> re.Pattern[str]:
    """Return a pattern for all spellings of a header in the notation of manuals."""

    def token(match: re.Match[str]) -> str:
        text = match[0]
        if text in "[]":
            return "(?:" if text == "[" else ")?"
        short = text.rstrip("abcdefghijklmnopqrstuvwxyz")
        return f"{re.escape(short)}(?:{text[len(short) :]})?" if short != text else re.escape(text)

    return re.compile(re.sub(r"[A-Z]+[a-z]*|.", token, header), re.IGNORECASE)
