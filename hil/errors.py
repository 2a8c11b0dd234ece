"""The errors of the rig: each message is one sentence that names the thing, the place and the cure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class RigError(Exception):
    """Something the user can put right: a bad name, a wrong file, a setting out of range."""


class Blocked(RigError):
    """The rig could not tell: a fault of the bench, the port, the probe or the tool, never of the device under test.

    Args:
        stage: where it happened: `bench`, `flash`, `link`, `load`, `train`, `probe`, ...
        reason: one sentence.
    """

    def __init__(self, stage: str, reason: str) -> None:
        super().__init__(f"{stage}: {reason}")
        self.stage = stage
        self.reason = reason


class DeviceFault(RigError):
    """The device under test is wrong: it faulted, refused what it must take, or its arithmetic differs."""


def said_by(error: BaseException) -> str:
    """Return what an error says, or else its type, as a part of a sentence: its first line, printable, 200 characters at most."""
    first = (str(error).strip() or type(error).__name__).splitlines()[0]
    return "".join(each if each.isprintable() else "?" for each in first[:200]).rstrip(".")


def close_matches(name: str, known: Iterable[str]) -> str:
    """Return the tail of an error message: the close matches of `name`, or all that is known."""
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"known are: {', '.join(known)}."
