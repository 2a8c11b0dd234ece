"""What a device has printed for all calls of `lines` in a test: a later call knows what an earlier one has found."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from hil.dut.expectations import CommandEnded


@dataclass
class LinesSeen:
    """What calls of `lines` have found on one port.

    Attributes:
        counts: lines by pattern.
        numbers: lines in which a group was a number, by pattern, group, dtype and whether its bits were printed.
        ended: how the program ended well in a call that did not say how many lines there must be; None if none did.
        warnings: sentences for the record.
    """

    counts: Counter[str] = field(default_factory=Counter)
    numbers: Counter[tuple[str, str, str, bool]] = field(default_factory=Counter)
    ended: CommandEnded | None = None
    warnings: list[str] = field(default_factory=list)

    def end_early(self, ended: CommandEnded, so_far: str) -> None:
        """Note that the program ended well where more lines may have been expected; `so_far` says how many came."""
        self.ended = ended
        sentence = (
            f"the device printed {so_far}, until the {ended.what} ended with exit code 0: with `count` or `until` in "
            "dut.lines it is a failure if lines are missing."
        )
        if sentence not in self.warnings:
            self.warnings.append(sentence)
