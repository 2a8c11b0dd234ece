"""What a device prints, line by line, as values."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pexpect

from hil.dut.dut_serial import DutSerial
from hil.dut.expectations import CommandEnded, Unreadable
from hil.dut.lines_seen import LinesSeen
from hil.errors import DeviceFault, RigError, shown
from hil.link.received_words import words

DECIMAL = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"  # in one way only: no search in lists goes back
NUMBER = re.compile(
    r"(?P<integer>[+-]?\d+)"
    r"|(?P<hex_integer>0[xX][0-9a-fA-F]+)"
    r"|(?P<hex_float>[+-]?0[xX][0-9a-fA-F]*\.?[0-9a-fA-F]*[pP][+-]?\d+)"  # C17, 7.21.6.1: conversion `a`
    rf"|(?P<decimal>{DECIMAL})"
    r"|(?P<nan>[+-]?)nan(?:\([0-9a-zA-Z_]*\))?"  # C17, 7.21.6.1: conversion `f`
    r"|(?P<infinity>[+-]?)inf(?:inity)?",
    re.IGNORECASE,
)
HEX = re.compile(r"(?:0[xX])?(?P<digits>[0-9a-fA-F]+)")  # bits of a value
BETWEEN = re.compile(r"[\s,;\[\]{}()]+")  # numbers of a list
DECIMALS = re.compile(
    rf"(?:{BETWEEN.pattern})?{DECIMAL}(?:{BETWEEN.pattern}{DECIMAL})+(?:{BETWEEN.pattern})?"
)  # most lists
PASSED = 512  # of the last bytes that were passed over, for messages
Value: TypeAlias = Any  # int, float, str, or an array or number of NumPy
Dtypes: TypeAlias = "Mapping[str, npt.DTypeLike]"


class Incomplete(DeviceFault):
    """The device printed fewer lines than it must, or more, or cut one off."""


def _checked(pattern: str, dtypes: dict[str, Any], bits: Collection[str]) -> tuple[re.Pattern[str], dict[str, Any]]:
    """Return the pattern of `lines` and the dtypes of its groups. Raises RigError if they do not fit."""
    wanted = _compiled(pattern)
    if wanted.groups > len(wanted.groupindex):
        raise RigError(f"a group of {pattern!r} has no name: write (?P<name>...), or (?:...) for one without a value.")
    for name in (*dtypes, *bits):
        if name not in wanted.groupindex:
            raise RigError(f"{pattern!r} has no group {name!r}: name it with (?P<{name}>...).")
    for name in bits:
        if name not in dtypes:
            raise RigError(f"the bits of {name!r} are of a dtype: give it, such as dtypes={{{name!r}: np.float32}}.")
    return wanted, dtypes


def _check_count(count: int | None) -> None:
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 0):
        raise RigError(f"count is {shown(count)}: give the number of lines, or leave it out.")


def lines(
    serial: DutSerial,
    pattern: str,
    count: int | None = None,
    until: str | None = None,
    timeout: float | None = -1,
    dtypes: Dtypes | None = None,
    bits: Collection[str] = (),
    error: str | None = None,
) -> Iterator[Any]:
    """Iterate over the lines that a device prints and that have a pattern in them.

    Only lines with their end count, so that a number is never cut off. Other lines are passed over.

    Args:
        serial: the port.
        pattern: a regular expression. Named groups give a dict of values (`value_of`), one without groups the line.
        count: how many lines there must be; the iteration ends after the last one. Without `count` and `until` it ends
            when a board that is a command ends well.
        until: a regular expression of the line that ends the iteration; with `count`, so many must come before it.
        timeout: for the next line with the pattern, in seconds, whatever else comes; then for that of `until`. None
            waits for ever, -1 means `serial.timeout`. Without `count` and `until` the iteration of another board never
            ends by itself.
        dtypes: dtypes of groups; without one, integers are int and other numbers float.
        bits: groups whose hexadecimal numbers are the bits of a value of their dtype: `0x40490fdb` is 3.1415927.
        error: a regular expression of a line by which the device says that it failed. It ends the iteration at once.

    Raises:
        Incomplete: there are fewer or more lines, the last one has no end, or the device said that it failed.
        NotSeen: no line came in time, of those that are expected (`DutSerial.expect`).
        DeviceFault: a group is no number of its dtype, and was one in a line before, in any call.
        RigError: a pattern, a dtype or the count is wrong, or a group is no number.
    """
    _check_count(count)
    wanted, known = _checked(pattern, dict(dtypes or {}), bits)
    last, failure = (_compiled(one) if one is not None else None for one in (until, error))
    of = f" of {count}" if count is not None else ""
    seen, printed, earlier = 0, Printed(serial, timeout, failure), serial.lines_seen.counts[pattern]
    also = f", after {earlier} before" if earlier else ""
    while count is None or seen < count:
        so_far = f"{seen}{of} lines with {pattern!r}{also}"
        before = f"{seen}{of} such lines" if seen or of else f"{serial.matches} matches of other calls"
        try:
            line = printed.next(f"a line with {pattern!r} after {before}", so_far)
        except CommandEnded as ended:
            if count is None and until is None and not ended.status:
                serial.lines_seen.end_early(ended, so_far)
                return
            raise Incomplete(f"the device printed {so_far}: {ended.instead_of('')}") from ended
        if last is not None and last.search(line):
            break
        found = wanted.search(line)
        if found is None:
            continue
        seen += 1
        serial.lines_seen.counts[pattern] += 1
        printed.found()
        yield _values(found, known, bits, line, serial.lines_seen) if found.groupdict() else line
        printed.wait_anew()
    if count is not None and seen < count:
        raise Incomplete(f"the device printed {seen}{of} lines with {pattern!r}{also} before {until!r}{printed.last}.")
    if count is not None and last is not None:
        while not last.search(line := printed.next(f"a line with {until!r}", f"{seen}{of} lines with {pattern!r}")):
            if wanted.search(line):
                raise Incomplete(f"the device printed more than {count} lines with {pattern!r}: {shown(line)}.")


class Printed:
    """The lines of a port, and what came since the last one that was expected.

    Args:
        serial: the port.
        timeout: for the next line that is expected, as that of `lines`.
        failure: of a line by which the device says that it failed.
    """

    def __init__(self, serial: DutSerial, timeout: float | None, failure: re.Pattern[str] | None) -> None:
        self._serial, self._timeout, self._failure = serial, timeout, failure
        self._passed = b""
        self.wait_anew()

    def wait_anew(self) -> None:
        """Begin the time-out of the next line that is expected."""
        self._ends = self._serial.deadline(self._serial.timeout if self._timeout == -1 else self._timeout)

    def next(self, wanted: str, so_far: str) -> str:
        """Return the next line without its end; `wanted` and `so_far` are what was expected and what came, in words."""
        try:
            data = self._serial.next_line(wanted, self._timeout, self._ends, self._passed)
        except (pexpect.TIMEOUT, CommandEnded) as late:
            rest = bytes(self._serial.before)
            goes_on = isinstance(late, pexpect.TIMEOUT) and not self._serial.fell_silent(self._ends.began)
            if not rest or goes_on or not isinstance(late, DeviceFault) or isinstance(late, Unreadable):
                raise
            raise Incomplete(f"the device printed {so_far}, and the last line is cut off: {words(rest)}.") from late
        self._passed = (self._passed + data + b"\n")[-PASSED:]
        line = data.decode("utf-8", "replace")
        if self._failure is not None and self._failure.search(line):
            raise Incomplete(
                f"the device printed {so_far}, and then {shown(line)}, which says that it failed (error="
                f"{self._failure.pattern!r})."
            )
        return line

    def found(self) -> None:
        """Count the last line, which was expected."""
        self._serial.note_match()
        self._passed = b""

    @property
    def last(self) -> str:
        """The last words since the line that was expected, as the end of a sentence."""
        return f"; its last words are {words(self._passed)}" if self._passed else ""


def value_of(text: str, dtype: npt.DTypeLike | None = None, as_bits: bool = False) -> Value:
    """Return what a text says: int, float, an array of several numbers, or else the text.

    Numbers are decimal (`-12`, `1.5e-3`), hexadecimal (`0xff`, `0x1.8p+1`), `nan` or `inf`, with a sign. Several ones
    are separated by spaces or commas, in brackets or not.

    Args:
        text: as the device printed it.
        dtype: of the result; the text must then be a number, or several.
        as_bits: hexadecimal numbers are the bits of a value of this dtype, with all their digits. A float may also be
            `nan` or `inf`.

    Raises:
        RigError: the text is no number of this dtype.
    """
    whole = text.strip()
    parts = [whole] if NUMBER.fullmatch(whole) else [part for part in BETWEEN.split(whole) if part]
    if dtype is not None and not as_bits and np.dtype(dtype).kind == "f" and DECIMALS.fullmatch(whole):
        return np.array(list(map(float, parts)), dtype)
    if as_bits:
        return _of_bits(text, parts, np.dtype(dtype))
    numbers = [_number(part) for part in parts]
    if not numbers or any(number is None for number in numbers):
        if dtype is None:
            return text
        raise RigError(f"{shown(text)} is no number of {np.dtype(dtype).name}: correct the pattern or its dtype.")
    if dtype is None:
        return numbers[0] if len(numbers) == 1 else np.array(numbers)
    kind = np.dtype(dtype)
    if kind.kind in "iu" and not all(isinstance(n, int) and _fits(n, kind) for n in numbers):
        raise RigError(f"{shown(text)} is no number of {kind.name}: correct the pattern or its dtype.")
    found = np.array(numbers, kind)
    return kind.type(found[0]) if len(numbers) == 1 else found


def _fits(number: int, kind: np.dtype[Any]) -> bool:
    limits = np.iinfo(kind)
    return bool(limits.min <= number <= limits.max)


def _number(text: str) -> int | float | None:
    found = NUMBER.fullmatch(text)
    match found.lastgroup if found is not None else None:
        case "integer":
            return int(text)
        case "hex_integer":
            return int(text, 16)
        case "decimal":
            return float(text)
        case "hex_float":
            with contextlib.suppress(ValueError, OverflowError):
                return float.fromhex(text)
        case "nan" | "infinity" as kind:
            return float(f"{found[kind]}{kind}")  # type: ignore[index]  # it was found
    return None


def _of_bits(text: str, parts: list[str], kind: np.dtype[Any]) -> Any:
    """Return the value or the values whose bits hexadecimal numbers are."""
    digits = 2 * kind.itemsize
    for part in parts:
        found = HEX.fullmatch(part)
        if found is not None and len(found["digits"]) != digits:
            raise RigError(
                f"{shown(part)} has {len(found['digits'])} hexadecimal digits, and the bits of {kind.name} have "
                f"{digits}: print all of them (%0{digits}x), or correct its dtype."
            )
    values = [_bits(part, kind) for part in parts]
    if not values or any(value is None for value in values):
        raise RigError(f"{shown(text)} is no number of {kind.name}: correct the pattern or its dtype.")
    return values[0] if len(values) == 1 else np.array(values, kind)


def _bits(text: str, kind: np.dtype[Any]) -> Any:
    """Return the value whose bits a hexadecimal number has, or a float that is `nan` or `inf`; None of another text."""
    found = HEX.fullmatch(text)
    if found is not None:
        data = int(found["digits"], 16).to_bytes(kind.itemsize, "little")
        return np.frombuffer(data, kind.newbyteorder("<"))[0]
    named = NUMBER.fullmatch(text)
    if kind.kind != "f" or named is None or named.lastgroup not in ("nan", "infinity"):
        return None
    return kind.type(_number(text))


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise RigError(f"{pattern!r} is no regular expression ({error}): correct the pattern.") from error


def _values(
    found: re.Match[str], dtypes: Dtypes, bits: Collection[str], line: str, before: LinesSeen
) -> dict[str, Value]:  # fmt: skip
    """Return the values of the groups. What was a number before, and is none now, is the device's fault."""
    values: dict[str, Value] = {}
    for name, text in found.groupdict().items():
        if text is None:
            continue
        dtype = dtypes.get(name)
        key = (found.re.pattern, name, str(np.dtype(dtype)) if dtype is not None else "", name in bits)
        try:
            values[name] = value_of(text, dtype, name in bits)
        except RigError as error:
            said = f"{name} in the line {shown(line)}: {error}"
            if not before.numbers[key]:
                raise RigError(said) from error
            fact = said.rpartition(": ")[0]  # without its cure
            many = before.numbers[key]
            raise DeviceFault(
                f"{fact}, although it was a number in {many} line{'s' if many > 1 else ''} before: the device printed "
                "something else."
            ) from error
        before.numbers[key] += dtype is not None
    return values
