"""The errors of the rig. Each message is one sentence that names the thing, the place and the cure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

NO_MEMORY = (
    "this computer gives the rig no more memory or threads: close other programs, "
    "or raise its limits (ulimit -v, ulimit -u)."
)
NO_WORKING_FOLDER = (
    "the working folder was deleted, by a test or another program: let it stay, or change to another one (os.chdir)."
)
FOLDER_GONE = (
    "the folder {} of the run was deleted while the run went on, by a test or another program: let nothing delete it, "
    "and run again."
)
QUARANTINE = "quarantine"  # stage at which a trial on a board in quarantine is blocked (docs/how-to/lab.md)
LONGEST_SHOWN = 120  # characters of a value in a message
# Control characters except tab and newline; lone halves of surrogate pairs.
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class RigError(Exception):
    """Something the user can correct: a bad name, a wrong file, a setting out of range.

    Args:
        message: one sentence. Characters that are invalid in a terminal, XML or UTF-8 are escaped, such as those of a
            path that is not UTF-8.

    Attributes:
        device: which of several devices of a test has raised it, such as `device 2`; empty of the first one.
    """

    device = ""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class Blocked(RigError):
    """The rig could not decide, because of the bench, the port, the probe or a tool, not of the device under test.

    Args:
        stage: stage that failed: `bench`, `flash`, `link`, `load`, `train`, `probe`, ...
        reason: one sentence.

    Attributes:
        place: labgrid place that the board is at, if it was acquired, or its `id` in rig.toml; else empty.
    """

    def __init__(self, stage: str, reason: str) -> None:
        super().__init__(f"{stage}: {reason}")
        self.stage = stage
        self.reason = printable(reason)
        self.place = ""

    def __reduce__(self) -> tuple[type[Blocked], tuple[str, str]]:
        """Give pickle both arguments, of which an exception keeps only the message."""
        return type(self), (self.stage, self.reason)


class DeviceFault(RigError):
    """The device under test is wrong: it faulted, refused a valid request, or its arithmetic differs."""


def not_written(path: Path, error: OSError) -> Blocked:
    """Return the error of a file of the record, such as a log, that the disk does not take."""
    return Blocked(
        "record",
        f"{short_path(path)} cannot be written ({error.strerror or error}): check the space and the permissions of the "
        "disk, the board did nothing wrong.",
    )


def verdict_word(error: RigError) -> Literal["fail", "blocked", "refused"]:
    """Return the verdict of what ended with an error: it follows the type."""
    return "fail" if isinstance(error, DeviceFault) else "blocked" if isinstance(error, Blocked) else "refused"


def message_of(error: BaseException) -> str:
    """Return the message of an error for use in a sentence: first line, printable, at most 200 characters.

    An error without a message gives its type.
    """
    first = (str(error).strip() or type(error).__name__).splitlines()[0]
    return printable(first[:200]).rstrip(".")


def printable(text: str) -> str:
    """Return the text with control characters and lone surrogates replaced by their Python escapes."""
    return UNPRINTABLE.sub(lambda found: ascii(found.group())[1:-1], text)


def shown(value: Any) -> str:
    """Return a value for a message: its `repr`, cut if it is long. Never raises."""
    # Python refuses to convert an integer of more than 4300 digits.
    if isinstance(value, int) and value.bit_length() > 4 * LONGEST_SHOWN:
        return f"a whole number of {value.bit_length():,} bits"
    try:
        text = repr(value)
    except Exception:  # the `repr` of a user's object may raise anything
        return f"of type {type(value).__name__}"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def short_path(path: Path) -> Path:
    """Return a path for a message: relative to the working folder if it is below it, without the user's own folders."""
    working = working_folder()
    return path.relative_to(working) if working is not None and path.is_relative_to(working) else path


def working_folder() -> Path | None:
    """Return the working folder; None if it was deleted."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None


def close_matches(name: str, known: Iterable[str]) -> str:
    """Return the end of an error message: known names that begin with `name`, else similar ones, else all of them.

    The nearest comes first; capital letters do not matter.
    """
    known = sorted(known)
    by_lower, lower = {word.lower(): word for word in known}, name.lower()
    begun = [word for word in sorted(by_lower, key=len) if name and word.startswith(lower)]
    close = [by_lower[word] for word in begun or difflib.get_close_matches(lower, by_lower, n=3)]
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"known are: {', '.join(known)}."
