"""The errors of the rig: each message is one sentence that names the thing, the place and the cure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any

NO_MEMORY = "this computer gives the rig no more memory or threads: close other programs, or raise its limits (ulimit -v, ulimit -u)."
LONGEST_SHOWN = 120  # characters of a value in a message
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")  # control characters but tab and newline; halves of surrogate pairs


class RigError(Exception):
    """Something the user can put right: a bad name, a wrong file, a setting out of range.

    Args:
        message: one sentence; what no terminal, XML or UTF-8 takes of it is escaped, such as a path whose bytes are no UTF-8.
    """

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class Blocked(RigError):
    """The rig could not tell: a fault of the bench, the port, the probe or the tool, never of the device under test.

    Args:
        stage: where it happened: `bench`, `flash`, `link`, `load`, `train`, `probe`, ...
        reason: one sentence.
    """

    def __init__(self, stage: str, reason: str) -> None:
        super().__init__(f"{stage}: {reason}")
        self.stage = stage
        self.reason = printable(reason)


class DeviceFault(RigError):
    """The device under test is wrong: it faulted, refused what it must take, or its arithmetic differs."""


def said_by(error: BaseException) -> str:
    """Return what an error says, or else its type, as a part of a sentence: its first line, printable, 200 characters at most."""
    first = (str(error).strip() or type(error).__name__).splitlines()[0]
    return printable(first[:200]).rstrip(".")


def printable(text: str) -> str:
    """Return the text with control characters and lone surrogates as the escapes that Python writes them by."""
    return UNPRINTABLE.sub(lambda found: ascii(found.group())[1:-1], text)


def shown(value: Any) -> str:
    """Return a value as a message shows it: its `repr`, of a long one the beginning; never an error."""
    if isinstance(value, int) and value.bit_length() > 4 * LONGEST_SHOWN:  # Python refuses to write one of more than 4300 digits
        return f"a whole number of {value.bit_length():,} bits"
    try:
        text = repr(value)
    except Exception:  # whatever an object of the user's raises
        return f"of type {type(value).__name__}"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def close_matches(name: str, known: Iterable[str]) -> str:
    """Return the tail of an error message: the close matches of `name`, or all that is known."""
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"known are: {', '.join(known)}."
