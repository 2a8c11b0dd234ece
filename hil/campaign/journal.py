"""The journal of a campaign: one line an event, each with its number and its CRC-32; only its end can be torn.

A line is JSON, a tab, eight hex digits (CRC-32 of the JSON) and a line feed. A cut leaves a prefix of the last line, or what a file system leaves of
it: that end is dropped. A damaged line before a good one is no cut, and is refused.
"""

from __future__ import annotations

import json
import os
import zlib
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from hil.errors import RigError, said_by, shown

NAME = "journal.jsonl"
LONGEST_LINE = 1 << 16  # bytes; a line is a few hundred
UNKNOWN = -1
MOST_MISSING = 1 << 24  # steps that a disk may have lost of a journal: 8 bytes of memory each
WORD = (1 << 32) - 1  # the largest index of a step, and the largest digest


@dataclass
class Told:
    """What a journal tells.

    Attributes:
        first_step: of the campaign.
        lines: good lines.
        good_bytes: where the good lines end.
        dropped: bytes of a torn end.
        again: steps that were computed a second time, as far as the journal knows.
        cuts: how often the campaign was resumed.
        board: index of the step before which the newest checkpoint of the board was written, as the journal has it; None where there is none.
        ended: the last line that says how a session ended; None while one runs, or after a cut.
    """

    first_step: int
    lines: int = 0
    good_bytes: int = 0
    dropped: int = 0
    again: int = 0
    cuts: int = 0
    board: int | None = None
    ended: dict[str, Any] | None = None
    last: dict[str, Any] | None = None
    _missing: int = 0
    _digests: array[int] = field(default_factory=lambda: array("q"))

    @property
    def next_step(self) -> int:
        """Index of the step after the last one that was told."""
        return self.first_step + len(self._digests)

    def digest(self, step: int) -> int | None:
        """Return the digest of all tensors after a step (`step_digest`), None where the journal does not have it."""
        at = step - self.first_step
        known = self._digests[at] if 0 <= at < len(self._digests) else UNKNOWN
        return None if known == UNKNOWN else known

    def take(self, entry: dict[str, Any]) -> None:
        """Add a line.

        Raises:
            KeyError, TypeError, ValueError: it is no line of a journal.
        """
        kind = entry["kind"]
        if kind == "step":
            self._take_step(_whole("step", entry["step"]), _whole("digest", int(entry["digest"], 16)))
            if not (isinstance(entry["loss"], list) and len(entry["loss"]) == 2 and all(map(_loss, entry["loss"]))):
                raise ValueError("loss is not two numbers")
            self.last = entry
        elif kind == "from":
            self.again += _whole("again", entry["again"])
            self.cuts += _whole("cut", entry["cut"])
            self.ended = None
        elif kind == "board":
            self.board = _whole("step", entry["step"])
        elif kind == "end":
            if not (isinstance(entry["verdict"], str) and isinstance(entry["reason"], str)):
                raise ValueError("verdict and reason are no words")
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


def read_journal(path: Path, first_step: int) -> Told:
    """Read a journal; one that is not there tells nothing.

    Raises:
        RigError: a line is damaged that is not the last, or no line of a journal.
    """
    told = Told(first_step)
    if not path.exists():
        return told
    if not path.is_file():  # a pipe would be waited for
        raise RigError(f"{path} is no file: it is no journal of a campaign, restore it from a copy.")
    with path.open("rb") as file:
        while line := file.readline(LONGEST_LINE):
            entry = _entry(line, told.lines)
            if entry is None:
                _check_torn(path, told.lines, file.read(LONGEST_LINE))
                break
            try:
                told.take(entry)
            except (KeyError, TypeError, ValueError) as error:
                raise RigError(
                    f"{path}, line {told.lines + 1}: {said_by(error)}: it is no journal of a campaign, restore it from a copy."
                ) from error
            told.good_bytes += len(line)
        told.dropped = path.stat().st_size - told.good_bytes
    return told


def _whole(name: str, value: object) -> int:
    """Return a whole number of a line; ValueError where it is none, or out of range."""
    if not isinstance(value, int) or not 0 <= value <= WORD:
        raise ValueError(f"{name} is {shown(value)}")
    return value


def _loss(value: object) -> bool:
    """Whether a value can be a loss: a float of 32 bits, or None where it is none."""
    return value is None or (isinstance(value, (int, float)) and abs(value) < 1e39)


def _entry(line: bytes, number: int | None) -> dict[str, Any] | None:
    """Return what a line says, None of one that is torn, damaged, or not the one with this number."""
    text, tab, crc = line.rpartition(b"\t")
    if not tab or crc != b"%08x\n" % zlib.crc32(text):
        return None
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError):
        return None
    right = isinstance(entry, dict) and (number is None or entry.get("n") == number)
    return entry if right else None


def _check_torn(path: Path, lines: int, rest: bytes) -> None:
    """Raise where a good line follows: that is damage, and no cut."""
    if any(_entry(line, None) is not None for line in rest.splitlines(keepends=True)):
        raise RigError(
            f"{path}, line {lines + 1}: it is damaged and good lines follow, which no cut does: restore the file from a copy."
        )


class Journal:
    """A journal that is written on; what a cut left of its last line is cut off first.

    Args:
        path: of the file; made where there is none.
        told: what it has told so far, by `read_journal`; goes on with every line.
    """

    def __init__(self, path: Path, told: Told) -> None:
        self.told = told
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._cut_off()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)

    def append(self, kind: str, **facts: Any) -> None:
        """Write a line; one that the disk does not take whole is taken back.

        Raises:
            OSError: the disk takes no more.
        """
        entry = {"n": self.told.lines, "kind": kind, **facts}
        text = json.dumps(entry, separators=(",", ":")).encode()
        line = text + b"\t%08x\n" % zlib.crc32(text)
        left = memoryview(line)
        try:
            while left:
                left = left[os.write(self._file, left) :]
        except OSError:
            self._cut_off()
            raise
        self.told.good_bytes += len(line)
        self.told.take(entry)

    def _cut_off(self) -> None:
        """Leave the good lines alone."""
        os.ftruncate(self._file, self.told.good_bytes)
        os.lseek(self._file, self.told.good_bytes, os.SEEK_SET)

    def sync(self) -> None:
        """Wait until the disk has every line."""
        os.fsync(self._file)
