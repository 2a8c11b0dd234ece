"""SCPI syntax: headers in long and short form, numbers, error codes (SCPI-99, volume 1; IEEE 488.2)."""

from __future__ import annotations

import re

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


def pattern(header: str) -> re.Pattern[str]:
    """Return a pattern for all spellings of a header in the notation of manuals."""

    def token(match: re.Match[str]) -> str:
        text = match[0]
        if text in "[]":
            return "(?:" if text == "[" else ")?"
        short = text.rstrip("abcdefghijklmnopqrstuvwxyz")
        return f"{re.escape(short)}(?:{text[len(short) :]})?" if short != text else re.escape(text)

    return re.compile(re.sub(r"[A-Z]+[a-z]*|.", token, header), re.IGNORECASE)
