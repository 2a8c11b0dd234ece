"""The journal of a campaign: one line for each event, with a number and a CRC-32.

A line is JSON, a tab, eight hex digits (CRC-32 of the JSON) and a line feed. An interruption leaves a part of the last
line, or whatever the file system leaves of it: this end is dropped. A damaged line before a good one is an error.
"""

from __future__ import annotations

import json
import os
import zlib
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hil.errors import RigError, message_of, shown

NAME = "journal.jsonl"
LONGEST_LINE = 1 << 16  # bytes; a line has a few hundred
UNKNOWN = -1
MOST_MISSING = 1 << 24  # steps that the journal may lack; each takes 8 bytes of memory
LARGEST = (1 << 32) - 1  # index of a step, or digest
RESTORE = "it is not the journal of a campaign, restore it from a copy"


@dataclass
class JournalState:
    """The content of a journal."""

    first_step: int  # of the campaign
    lines: int = 0  # number of good lines
    good_bytes: int = 0  # offset of the end of the good lines
    dropped: int = 0  # bytes of an incomplete end
    again: int = 0  # steps that were computed a second time
    cuts: int = 0  # number of interruptions after which the campaign was resumed
    board: int | None = None  # step before which the board wrote its newest checkpoint; None without one
    ended: dict[str, Any] | None = None  # how the last session ended; None while one runs, or after an interruption
    last: dict[str, Any] | None = None  # the line of the last step
    _missing: int = 0
    _digests: array[int] = field(default_factory=lambda: array("q"))

    @property
    def next_step(self) -> int:
        """Index of the step after the last one in the journal."""
        return self.first_step + len(self._digests)

    def digest(self, step: int) -> int | None:
        """Return the digest of all tensors after a step (`step_digest`), None if the journal does not have it."""
        at = step - self.first_step
        known = self._digests[at] if 0 <= at < len(self._digests) else UNKNOWN
        return None if known == UNKNOWN else known

    def take(self, entry: dict[str, Any]) -> None:
        """Add a line.

        Raises:
            KeyError, TypeError, ValueError: it is not a line of a journal.
        """
        kind = entry["kind"]
        if kind == "step":
            self._take_step(_u32("step", entry["step"]), _u32("digest", int(entry["digest"], 16)))
            if not (isinstance(entry["loss"], list) and len(entry["loss"]) == 2 and all(map(_is_loss, entry["loss"]))):
                raise ValueError("loss is not two numbers")
            self.last = entry
        elif kind == "from":
            self.again += _u32("again", entry["again"])
            self.cuts += _u32("cut", entry["cut"])
            self.ended = None
        elif kind == "board":
            self.board = _u32("step", entry["step"])
        elif kind == "end":
            if not (isinstance(entry["verdict"], str) and isinstance(entry["reason"], str)):
                raise ValueError("verdict and reason are not strings")
            self.ended = entry
        self.lines += 1

    def _take_step(self, step: int, digest: int) -> None:
        missing = step - self.next_step
        if missing < 0:
            raise ValueError(f"step {step} comes twice")
        self._missing += missing
        if self._missing > MOST_MISSING:
            raise ValueError(f"{self._missing:,} steps before step {step:,} are missing")
        self._digests.extend(array("q", [UNKNOWN]) * missing)
        self._digests.append(digest)


def read_journal(path: Path, first_step: int) -> JournalState:
    """Read a journal; a missing file is an empty journal.

    Raises:
        RigError: a line before the last is damaged, or is not a line of a journal.
    """
    state = JournalState(first_step)
    if not path.exists():
        return state
    if not path.is_file():  # opening a pipe would wait
        raise RigError(f"{path} is not a regular file: {RESTORE}.")
    with path.open("rb") as file:
        while line := file.readline(LONGEST_LINE):
            entry = _entry(line, state.lines)
            if entry is None:
                _check_end(path, state.lines, file.read(LONGEST_LINE))
                break
            try:
                state.take(entry)
            except (KeyError, TypeError, ValueError) as error:
                raise RigError(f"{path}, line {state.lines + 1}: {message_of(error)}: {RESTORE}.") from error
            state.good_bytes += len(line)
        state.dropped = path.stat().st_size - state.good_bytes
    return state


def _u32(name: str, value: object) -> int:
    """Return a whole number below 2**32; raise ValueError for any other value."""
    if not isinstance(value, int) or not 0 <= value <= LARGEST:
        raise ValueError(f"{name} is {shown(value)}")
    return value


def _is_loss(value: object) -> bool:
    """Return whether a value can be a loss: a float32, or None for NaN and infinity."""
    return value is None or (isinstance(value, (int, float)) and abs(value) < 1e39)


def _entry(line: bytes, number: int | None) -> dict[str, Any] | None:
    """Return the content of a line; None if it is incomplete or damaged, or has another number."""
    text, tab, crc = line.rpartition(b"\t")
    if not tab or crc != b"%08x\n" % zlib.crc32(text):
        return None
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) and (number is None or entry.get("n") == number) else None


def _check_end(path: Path, lines: int, rest: bytes) -> None:
    """Raise RigError if a good line follows: then the file is damaged, not cut off."""
    if any(_entry(line, None) is not None for line in rest.splitlines(keepends=True)):
        where = f"{path}, line {lines + 1}"
        raise RigError(f"{where}: it is damaged and good lines follow: restore the file from a copy.")


class Journal:
    """A journal open for writing. An incomplete last line is cut off first, and a missing file is created.

    `state` is its content by `read_journal`; it is updated with every line.
    """

    def __init__(self, path: Path, state: JournalState) -> None:
        self.state = state
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._cut_off()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def append(self, kind: str, **facts: Any) -> None:
        """Append a line; if the disk does not take all of it, remove it again.

        Raises:
            OSError: the disk is full.
        """
        entry = {"n": self.state.lines, "kind": kind, **facts}
        text = json.dumps(entry, separators=(",", ":")).encode()
        line = text + b"\t%08x\n" % zlib.crc32(text)
        left = memoryview(line)
        try:
            while left:
                left = left[os.write(self._file, left) :]
        except OSError:
            self._cut_off()
            raise
        self.state.good_bytes += len(line)
        self.state.take(entry)

    def _cut_off(self) -> None:
        """Truncate the file to its good lines."""
        os.ftruncate(self._file, self.state.good_bytes)
        os.lseek(self._file, self.state.good_bytes, os.SEEK_SET)

    def sync(self) -> None:
        """Sync all lines to the disk."""
        os.fsync(self._file)
