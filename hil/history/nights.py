"""The runs in the order of the nights, also if the clock of a bench jumped.

A run records which run was the newest in its folder when it began. A run that seems to be older than that one ran on a
wrong clock; it is placed directly after it. Without such a wrong clock the order is that of the times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone

EARLIEST = datetime.min.replace(tzinfo=timezone.utc)


@dataclass(frozen=True)
class RunEntry:
    """A run.

    Attributes:
        number: in the database.
        uid: identity of the run; `name` is that of its folder.
        bench: name of the bench, empty without one.
        started, ended: as the clock of the computer said; None if the record has no time.
        placed: time by which the nights are ordered; differs from `started` only if the clock was wrong.
        tests, trials: number of each by verdict.
        path: of its folder on the computer that indexed it; None if it came without one.
        workers: number of processes that run its tests; None if it is not known.
        heard, moved: when it last wrote into the history, and when a test of it last ended, by the clock of the
            database; None if it was written when it had ended, or by an older version.
    """

    number: int
    uid: str
    name: str
    bench: str
    after: str | None
    started: datetime | None
    ended: datetime | None
    placed: datetime
    commit: str | None
    host: str
    version: str
    command: str
    state: str
    whole: bool
    exit_code: int | None
    imported: bool
    path: str | None
    workers: int | None = None
    heard: datetime | None = None
    moved: datetime | None = None
    tests: dict[str, int] = field(default_factory=dict)
    trials: dict[str, int] = field(default_factory=dict)

    @property
    def clock_was_wrong(self) -> bool:
        """Whether the run says that it began before a run that was there already."""
        return self.started is None or self.placed != self.started


def places(runs: Sequence[tuple[int, str, str, str | None, datetime | None]]) -> dict[int, tuple[datetime, int]]:
    """Return the place of each run in the order of the nights, by its number.

    Args:
        runs: number, bench, name, name of the run before, and start of each.

    Returns:
        The time, and how many runs with a wrong clock are between it and the run whose time it is.
    """
    by_name = {(bench, name): number for number, bench, name, _, _ in runs}
    before = {number: by_name.get((bench, after)) for number, bench, _, after, _ in runs if after is not None}
    started = {number: start or EARLIEST for number, _, _, _, start in runs}
    found: dict[int, tuple[datetime, int]] = {}
    for number in started:
        chain = [number]
        seen = {number}
        while (earlier := before.get(chain[-1])) is not None and earlier not in found and earlier not in seen:
            chain.append(earlier)
            seen.add(earlier)
        for each in reversed(chain):
            earlier = before.get(each)
            time, depth = found.get(earlier, (EARLIEST, 0)) if earlier is not None else (EARLIEST, 0)
            found[each] = (time, depth + 1) if time > started[each] else (started[each], 0)
    return found
