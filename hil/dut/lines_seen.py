"""What a device has printed for all calls of `lines` in a test: a later call knows what an earlier one has found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from hil.dut.expectations import CommandEnded

Lines: TypeAlias = "Generator[Any, None, CommandEnded | None]"  # it returns how the program ended well, if that ends it


@dataclass
class _Promise:
    """How many lines a call was to hold the device to, and how many its loop has taken."""

    pattern: str
    count: int
    until: str | None
    taken: int = 0
    held: bool = False  # or an error has said why not

    @property
    def is_held(self) -> bool:
        """Whether nothing is left to look for."""
        return self.held or (self.until is None and self.taken == self.count)

    @property
    def sentence(self) -> str:
        """That the loop was left before."""
        rest = f"that of {self.until!r}" if self.taken == self.count else "the others"
        return (
            f"the test has taken {self.taken} of {self.count} lines with {self.pattern!r} and left its loop over "
            f"dut.lines: nobody looked for {rest}; let the loop end by itself, or give `count` what the test takes."
        )


@dataclass
class LinesSeen:
    """What calls of `lines` have found on one port.

    Attributes:
        counts: lines by pattern.
        numbers: lines in which a group was a number, by pattern, group, dtype and whether its bits were printed.
        ended: how the program ended well in a call that did not say how many lines there must be; None if none did.
    """

    counts: Counter[str] = field(default_factory=Counter)
    numbers: Counter[tuple[str, str, str, bool]] = field(default_factory=Counter)
    ended: CommandEnded | None = None
    _noted: list[str] = field(default_factory=list)
    _promises: list[_Promise] = field(default_factory=list)

    @property
    def warnings(self) -> list[str]:
        """Sentences for the record, each once."""
        left = [each.sentence for each in self._promises if not each.is_held]
        return list(dict.fromkeys([*self._noted, *left]))

    def promised(self, lines: Lines, pattern: str, count: int | None, until: str | None) -> Lines:
        """Return the lines of a call; with a count, it is a warning until all of them were looked for."""
        if count is None:
            return lines
        self._promises.append(promise := _Promise(pattern, count, until))
        return _counted(lines, promise)

    def note_empty(self, pattern: str) -> None:
        """Note that `expect` has matched a pattern that the empty text matches too."""
        self._noted.append(
            f"dut.serial.expect({pattern}) matches no text at all too, at once, so it has judged nothing: expect what "
            "the device must print."
        )

    def note_any_line(self, pattern: str) -> None:
        """Note that `lines` has taken lines, or its end, by a pattern that every line has."""
        self._noted.append(
            f"dut.lines({pattern}) takes any line, so it has judged nothing: give what the device must print, or what "
            "it prints last as `until`."
        )

    def note_unjudged(self, megabytes: int) -> None:
        """Note that more came before or after a report of a test framework than is kept to be judged."""
        self._noted.append(
            f"the device printed more than {megabytes} MB that dut.cases has not read: no report in what follows is "
            "judged, so call dut.cases for each one."
        )

    def end_early(self, ended: CommandEnded, so_far: str) -> None:
        """Note that the program ended well where more lines may have been expected; `so_far` says how many came."""
        self.ended = ended
        self._noted.append(
            f"the device printed {so_far}, until the {ended.what} ended with exit code 0: with `count` or `until` in "
            "dut.lines it is a failure if lines are missing."
        )


def _counted(lines: Lines, promise: _Promise) -> Lines:
    try:
        for line in lines:
            promise.taken += 1
            yield line
    except GeneratorExit:  # the loop was left
        raise
    except BaseException:
        promise.held = True
        raise
    promise.held = True
    return None  # with a count, no end of the program is well
