"""What a device prints, line by line, as values."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pexpect

from hil.dut.dut_serial import DutSerial
from hil.dut.expectations import CommandEnded, words
from hil.errors import DeviceFault, RigError, shown

INTEGER = re.compile(r"[+-]?\d+")
HEX_INTEGER = re.compile(r"0[xX][0-9a-fA-F]+")
HEX_FLOAT = re.compile(r"[+-]?0[xX][0-9a-fA-F]*\.?[0-9a-fA-F]*[pP][+-]?\d+")  # C17, 7.21.6.1: conversion `a`
FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
NAN = re.compile(r"([+-]?)nan(\([0-9a-zA-Z_]*\))?", re.IGNORECASE)  # C17, 7.21.6.1: conversion `f`
INFINITY = re.compile(r"([+-]?)inf(inity)?", re.IGNORECASE)
BETWEEN = re.compile(r"[\s,;\[\]{}()]+")  # numbers of a list
Value: TypeAlias = Any  # int, float, str, or an array or number of NumPy
Dtypes: TypeAlias = "Mapping[str, npt.DTypeLike]"


class Incomplete(DeviceFault):
    """The device printed fewer lines than it must, or more, or cut one off."""


def lines(
    serial: DutSerial,
    pattern: str,
    count: int | None = None,
    until: str | None = None,
    timeout: float | None = -1,
    dtypes: Dtypes | None = None,
    bits: Collection[str] = (),
) -> Iterator[Any]:
    """Iterate over the lines that a device prints and that have a pattern in them.

    Only lines with their end count, so that a number is never cut off. Other lines are passed over.

    Args:
        serial: the port.
        pattern: a regular expression. Named groups give a dict of values (`value_of`), one without groups the line.
        count: how many lines there must be; the iteration ends after the last one. Without `count` and `until` it ends
            when a board that is a command ends well.
        until: a regular expression of the line that ends the iteration; with `count`, so many must come before it.
        timeout: for each line of the port, in seconds; None waits for ever, -1 means `serial.timeout`. Without `count`
            and `until` the iteration of another board never ends by itself.
        dtypes: dtypes of groups; without one, integers are int and other numbers float.
        bits: groups whose hexadecimal numbers are the bits of a value of their dtype: `0x40490fdb` is 3.1415927.

    Raises:
        Incomplete: there are fewer or more lines, or the last one has no end.
        NotSeen: no line came in time, of those that are expected (`DutSerial.expect`).
        RigError: a pattern or a dtype is wrong, or a group is no number.
    """
    wanted, last = _compiled(pattern), _compiled(until) if until is not None else None
    if wanted.groups > len(wanted.groupindex):
        raise RigError(f"a group of {pattern!r} has no name: write (?P<name>...), or (?:...) for one without a value.")
    known = dict(dtypes or {})
    for name in (*known, *bits):
        if name not in wanted.groupindex:
            raise RigError(f"{pattern!r} has no group {name!r}: name it with (?P<{name}>...).")
    for name in bits:
        if name not in known:
            raise RigError(f"the bits of {name!r} are of a dtype: give it, such as dtypes={{{name!r}: np.float32}}.")
    seen = 0
    while count is None or seen < count:
        try:
            line = _line(serial, pattern, seen, count, timeout)
        except CommandEnded as ended:
            if count is None and until is None and not ended.status:
                return
            of = f" of {count}" if count is not None else ""
            raise Incomplete(f"the device printed {seen}{of} lines with {pattern!r}: {ended.instead_of('')}") from ended
        if last is not None and last.search(line):
            break
        found = wanted.search(line)
        if found is None:
            continue
        seen += 1
        serial.note_match()
        yield _values(found, known, bits, line) if found.groupdict() else line
    if count is not None and seen < count:
        raise Incomplete(f"the device printed {seen} of {count} lines with {pattern!r} before {until!r}.")
    if count is not None and last is not None:
        _no_more(serial, wanted, last, count, timeout)


def value_of(text: str, dtype: npt.DTypeLike | None = None, as_bits: bool = False) -> Value:
    """Return what a text says: int, float, an array of several numbers, or else the text.

    Numbers are decimal (`-12`, `1.5e-3`), hexadecimal (`0xff`, `0x1.8p+1`), `nan` or `inf`, with a sign. Several ones
    are separated by spaces or commas, in brackets or not.

    Args:
        text: as the device printed it.
        dtype: of the result; the text must then be a number, or several.
        as_bits: hexadecimal numbers are the bits of a value of this dtype.

    Raises:
        RigError: the text is no number of this dtype.
    """
    whole = text.strip()
    parts = [whole] if NAN.fullmatch(whole) else [part for part in BETWEEN.split(whole) if part]
    numbers = [_bits(part, np.dtype(dtype)) if as_bits else _number(part) for part in parts]
    if not numbers or any(number is None for number in numbers):
        if dtype is None:
            return text
        raise RigError(f"{shown(text)} is no number of {np.dtype(dtype).name}: correct the pattern or its dtype.")
    if as_bits:
        return numbers[0] if len(numbers) == 1 else np.array(numbers, dtype)
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
    if INTEGER.fullmatch(text):
        return int(text)
    if HEX_INTEGER.fullmatch(text):
        return int(text, 16)
    if HEX_FLOAT.fullmatch(text):
        try:
            return float.fromhex(text)
        except (ValueError, OverflowError):
            return None
    if FLOAT.fullmatch(text):
        return float(text)
    if found := NAN.fullmatch(text):
        return float(f"{found[1]}nan")
    if found := INFINITY.fullmatch(text):
        return float(f"{found[1]}inf")
    return None


def _bits(text: str, kind: np.dtype[Any]) -> Any:
    """Return the value whose bits a hexadecimal number has, None if it has more or is no such number."""
    digits = text if text[:2] in ("0x", "0X") else f"0x{text}"
    if not HEX_INTEGER.fullmatch(digits) or len(digits) - 2 > 2 * kind.itemsize:
        return None
    return np.frombuffer(int(digits, 16).to_bytes(kind.itemsize, "little"), kind.newbyteorder("<"))[0]


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise RigError(f"{pattern!r} is no regular expression ({error}): correct the pattern.") from error


def _line(serial: DutSerial, pattern: str, seen: int, count: int | None, timeout: float | None) -> str:
    """Return the next line without its end."""
    try:
        serial.wait_for(rb"([^\n]*?)\r*\n", timeout)
    except (pexpect.TIMEOUT, CommandEnded) as late:
        rest = bytes(serial.before)
        if not rest or not isinstance(late, DeviceFault):
            raise
        of = f" of {count}" if count is not None else ""
        raise Incomplete(
            f"the device printed {seen}{of} lines with {pattern!r}, and the last line is cut off: {words(rest)}."
        ) from late
    return bytes(serial.match[1]).decode("utf-8", "replace")


def _values(found: re.Match[str], dtypes: Dtypes, bits: Collection[str], line: str) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for name, text in found.groupdict().items():
        if text is not None:
            try:
                values[name] = value_of(text, dtypes.get(name), name in bits)
            except RigError as error:
                raise RigError(f"{name} in the line {shown(line)}: {error}") from error
    return values


def _no_more(
    serial: DutSerial, wanted: re.Pattern[str], last: re.Pattern[str], count: int, timeout: float | None
) -> None:
    """Check that no more lines come before the last one."""
    while not last.search(line := _line(serial, last.pattern, 0, None, timeout)):
        if wanted.search(line):
            raise Incomplete(f"the device printed more than {count} lines with {wanted.pattern!r}: {shown(line)}.")
