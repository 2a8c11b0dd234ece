"""What a device prints, line by line, as values."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pexpect

from hil.dut.dut_serial import DutSerial
from hil.dut.expectations import CommandEnded
from hil.dut.lines_seen import Lines, LinesSeen
from hil.dut.printed_values import Value, value_of
from hil.dut.requests import check_timeout, checked_dtype, compiled, is_in_every_line
from hil.errors import DeviceFault, RigError, shown
from hil.link.received_words import words

PASSED = 512  # of the last bytes that were passed over, for messages
Dtypes: TypeAlias = "Mapping[str, npt.DTypeLike]"


class Incomplete(DeviceFault):
    """The device printed fewer lines than it must, or more, or cut one off."""


def _checked(pattern: str, dtypes: dict[str, Any], bits: Collection[str]) -> tuple[re.Pattern[str], dict[str, Any]]:
    """Return the pattern of `lines` and the dtypes of its groups. Raises RigError if they do not fit."""
    wanted = compiled(pattern)
    if wanted.groups > len(wanted.groupindex):
        raise RigError(f"a group of {pattern!r} has no name: write (?P<name>...), or (?:...) for one without a value.")
    for name in (*dtypes, *bits):
        if name not in wanted.groupindex:
            raise RigError(f"{pattern!r} has no group {name!r}: name it with (?P<{name}>...).")
    for name in bits:
        if name not in dtypes:
            raise RigError(f"the bits of {name!r} are of a dtype: give it, such as dtypes={{{name!r}: np.float32}}.")
    return wanted, {name: checked_dtype(dtype) for name, dtype in dtypes.items()}


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
) -> Lines:
    """Iterate over the lines that a device prints and that have a pattern in them.

    Only lines with their end count, so that a number is never cut off. Other lines are passed over.

    Args:
        serial: the port.
        pattern: a regular expression. Named groups give a dict of values (`value_of`), one without groups the line. One
            that every line has, such as `.*`, judges nothing without `until`.
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
        RigError: a pattern, a dtype, the count or the time-out is wrong, or a group is no number.
    """
    _check_count(count)
    check_timeout(timeout, has_default=True)
    wanted, known = _checked(pattern, dict(dtypes or {}), bits)
    last, failure = (compiled(one) if one is not None else None for one in (until, error))
    if failure is not None and is_in_every_line(failure):
        raise RigError(f"error={error!r} has a match in every line: give what only a device that failed prints.")
    if last is not None and is_in_every_line(last):
        if count:
            raise RigError(f"until={until!r} has a match in every line, so that no line is before it: give the last.")
        serial.lines_seen.note_any_line(f"until={until!r}")
    asked = _Asked(wanted, known, bits, last, failure, timeout)
    return serial.lines_seen.promised(_iterate(serial, asked, count), pattern, count, until)


@dataclass(frozen=True)
class _Asked:
    """What `lines` was asked for: patterns of a line, of the last one and of one that says a failure; its values."""

    wanted: re.Pattern[str]
    dtypes: Dtypes
    bits: Collection[str]
    last: re.Pattern[str] | None
    failure: re.Pattern[str] | None
    timeout: float | None

    @property
    def pattern(self) -> str:
        """The pattern of a line, for messages."""
        return repr(self.wanted.pattern)

    @property
    def judges(self) -> bool:
        """Whether a line is held to something: an end is expected, or not every line has the pattern."""
        ends = self.last is not None and not is_in_every_line(self.last)
        return ends or not is_in_every_line(self.wanted)

    def ends(self, line: str) -> bool:
        """Return whether a line ends the iteration."""
        return self.last is not None and bool(self.last.search(line))


def _iterate(serial: DutSerial, asked: _Asked, count: int | None) -> Lines:
    """Iterate as `lines`; return how the program ended well, if that ends the iteration."""
    counts, wanted, named = serial.lines_seen.counts, asked.wanted, asked.pattern
    of = f" of {count}" if count is not None else ""
    seen, printed, earlier = 0, Printed(serial, asked.timeout, asked.failure), counts[wanted.pattern]
    also = f", after {earlier} before" if earlier else ""
    while count is None or seen < count:
        so_far = f"{seen}{of} lines with {named}{also}"
        before = f"{seen}{of} such lines" if seen or of else f"{serial.matches} matches of other calls"
        try:
            line = printed.next(f"a line with {named} after {before}", so_far)
        except CommandEnded as ended:
            if count is None and asked.last is None and not ended.status:
                serial.lines_seen.end_early(ended, so_far)
                return ended
            raise Incomplete(f"the device printed {so_far}: {ended.instead_of('')}") from ended
        if asked.ends(line):
            break
        found = wanted.search(line)
        if found is None:
            continue
        seen += 1
        counts[wanted.pattern] += 1
        printed.found(counts_as_match=asked.judges)
        if seen == 1 and not asked.judges:
            serial.lines_seen.note_any_line(asked.pattern)
        yield _values(found, asked.dtypes, asked.bits, line, serial.lines_seen) if found.groupdict() else line
        printed.wait_anew()
    if asked.last is None or count is None:
        return None
    until = repr(asked.last.pattern)
    if seen < count:
        raise Incomplete(f"the device printed {seen}{of} lines with {named}{also} before {until}{printed.last}.")
    while not asked.ends(line := printed.next(f"a line with {until}", f"{seen}{of} lines with {named}")):
        if wanted.search(line):
            raise Incomplete(f"the device printed more than {count} lines with {named}: {shown(line)}.")
    return None


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
            if not rest or goes_on or not isinstance(late, DeviceFault):
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

    def found(self, counts_as_match: bool) -> None:
        """Note that the last line was expected; whether it counts says whether every line is."""
        self._serial.note_match(counts_as_match)
        self._passed = b""

    @property
    def last(self) -> str:
        """The last words since the line that was expected, as the end of a sentence."""
        return f"; its last words are {words(self._passed)}" if self._passed else ""


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
