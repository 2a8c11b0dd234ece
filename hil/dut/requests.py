"""Patterns and time-outs as a test gives them: what makes no sense is refused before anything is waited for."""

from __future__ import annotations

import math
import re
from numbers import Real
from typing import Any

import numpy as np
import pexpect

from hil.errors import RigError, shown

ANY_LINES = ("", "\0")  # what has a match in both has one in every line
DEFAULT = -1  # of pexpect: the time-out of the port


def check_timeout(timeout: Any, has_default: bool = False) -> None:
    """Refuse a time-out that is no time.

    Args:
        timeout: in seconds; None waits for ever.
        has_default: whether -1 means that of the port.

    Raises:
        RigError: it is no number, NaN or negative.
    """
    if timeout is None or (has_default and isinstance(timeout, Real) and timeout == DEFAULT):
        return
    if isinstance(timeout, bool) or not isinstance(timeout, Real) or math.isnan(timeout) or timeout < 0:
        raise RigError(f"timeout is {shown(timeout)}: give seconds, at least 0, or None to wait for ever.")


def check_times(times: Any) -> None:
    """Refuse a number of returns that is no whole number of at least 1, or None. Raises RigError."""
    if times is not None and (isinstance(times, bool) or not isinstance(times, int) or times < 1):
        raise RigError(f"times is {shown(times)}: give a whole number, at least 1, or None for no end.")


def check_patterns(patterns: Any) -> list[Any]:
    """Return the patterns of `expect` as a list.

    Raises:
        RigError: there are none, or one is no pattern.
    """
    listed = patterns if isinstance(patterns, list) else [patterns]
    if not listed:
        raise RigError("expect has an empty list of patterns: give one or more that the device must print.")
    for each in listed:
        if not isinstance(each, (str, bytes, re.Pattern)) and each not in (pexpect.EOF, pexpect.TIMEOUT):
            raise RigError(
                f"expect has the pattern {shown(each)}: give a str, bytes, a compiled pattern, pexpect.EOF or "
                "pexpect.TIMEOUT, or a list of these."
            )
    return listed


def compiled(pattern: Any) -> re.Pattern[str]:
    """Return the compiled pattern of a line.

    Raises:
        RigError: it is no regular expression in a str.
    """
    text = pattern.pattern if isinstance(pattern, re.Pattern) else pattern
    if not isinstance(text, str):
        raise RigError(f"the pattern of a line is {shown(pattern)}: give a regular expression in a str.")
    try:
        return re.compile(pattern)
    except re.error as error:
        raise RigError(f"{shown(pattern)} is no regular expression ({error}): correct the pattern.") from error


def checked_dtype(dtype: Any) -> np.dtype[Any]:
    """Return a dtype as NumPy knows it. Raises RigError if it knows none, or one of no bytes."""
    try:
        kind: np.dtype[Any] = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError) as error:
        raise RigError(f"{shown(dtype)} is no dtype: give one of NumPy, such as np.float32.") from error
    if kind.hasobject or not kind.itemsize:
        raise RigError(f"{shown(dtype)} has no bytes in memory: give a dtype such as np.float32.")
    return kind


def is_in_every_line(pattern: re.Pattern[str]) -> bool:
    """Return whether a pattern has a match in every line, such as `` and `.*`; `^$` has one in empty lines only."""
    return all(pattern.search(line) is not None for line in ANY_LINES)
