"""Runs that go on, of all computers that share the history: what they have yet to do, and how long that may take."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

from sqlalchemy import func, select

from hil.history.live import BEAT_S
from hil.history.models import planned, tests
from hil.history.queries import History

SILENT_S = 3 * BEAT_S  # without a sign of life before a run counts as silent
FORGOTTEN = timedelta(days=7)  # a run that has been silent for so long is not listed
NIGHTS = 14  # the last runs of a test whose durations count

Test = tuple[str, str | None]  # name and board


@dataclass(frozen=True)
class UnderWay:
    """A run that goes on, or seems to.

    Attributes:
        run, bench: names.
        host: system and processor of its computer.
        path: of its folder on its computer; None if there is none.
        began: by the clock of its computer.
        heard: when it last told something, by the clock of the database.
        silent: it has told nothing for longer than a run that lives may take.
        ended: number of its tests that have ended.
        left: number of those that have not, by board; empty for tests that name none.
        attached: boards of these that are those of rig.toml, and no stand-ins.
        left_s: about how long they will take in s: modelled, from the median duration of the same tests on earlier
            nights; None if the run is silent, or no test of it was there before.
        unknown: number of tests left that have no earlier night. They count by the median of the others.
    """

    run: str
    bench: str
    host: str
    path: str | None
    began: datetime | None
    heard: datetime | None
    silent: bool
    ended: int
    left: dict[str, int] = field(default_factory=dict)
    attached: tuple[str, ...] = ()
    left_s: float | None = None
    unknown: int = 0


def under_way(history: History) -> list[UnderWay]:
    """Return the runs that go on, the oldest first; three questions to the database.

    Raises:
        HistoryError: the history cannot be read.
    """
    now: datetime = history.rows(select(func.now()))[0][0]  # `heard` is by the clock of the database too
    now = now if now.tzinfo is not None else now.replace(tzinfo=timezone.utc)
    going = {
        run.number: (run, run.heard, run.moved or run.heard) for run in history.runs
        if run.state == "running" and not run.imported and run.heard is not None and now - run.heard < FORGOTTEN
    }  # fmt: skip
    left: dict[int, list[Test]] = {}
    attached: dict[int, set[str]] = {}
    for row in history.rows(select(planned).where(planned.c.run_id.in_(list(going)))):
        left.setdefault(row.run_id, []).append((row.test, row.board))
        if row.attached:
            attached.setdefault(row.run_id, set()).add(row.board)
    before = _durations(history, {test for each in left.values() for test, _ in each}) if left else {}
    found = []
    for number, (run, heard, moved) in going.items():
        own = left.get(number, [])
        silent = (now - heard).total_seconds() > SILENT_S
        elapsed = (now - moved).total_seconds()
        boards = attached.get(number, set())
        left_s = None if silent else time_left(own, before, run.bench, run.workers or 1, elapsed, boards)
        found.append(
            UnderWay(
                run.name, run.bench, run.host, run.path, run.started, heard, silent, sum(run.tests.values()),
                _by_board(own), tuple(sorted(boards)), left_s,
                sum(_seconds(before, run.bench, *test) is None for test in own),
            )
        )  # fmt: skip
    return found


Durations = Mapping[tuple[str, str | None, str], Sequence[float]]  # by test, board and bench; the last nights


def time_left(
    left: Sequence[Test], before: Durations, bench: str, workers: int, elapsed_s: float, attached: Collection[str]
) -> float | None:
    """Return about how long tests will take in s, None if none of them has an earlier night.

    A test takes the median of its last nights; one without an earlier night the median of the others. The tests of an
    attached board run one after the other, those of a stand-in side by side, and no more than `workers` at once.

    Args:
        left: tests that have not ended.
        before: durations in s.
        bench: name of the bench, whose own nights count if a test has any.
        workers: number of processes that run tests.
        elapsed_s: time since a test of the run last ended.
        attached: boards that are no stand-ins.
    """
    if not left:
        return 0.0
    known = {test: seconds for test in left if (seconds := _seconds(before, bench, *test)) is not None}
    if not known:
        return None
    typical = statistics.median(known.values())
    by_board: dict[str | None, float] = {}
    for test in left:
        by_board[test[1]] = by_board.get(test[1], 0.0) + known.get(test, typical)
    whole = sum(by_board.values())
    longest = max((by_board.get(board, 0.0) for board in attached), default=0.0)
    return max(0.0, max(longest, whole / workers) - elapsed_s)


def _seconds(before: Durations, bench: str, test: str, board: str | None) -> float | None:
    """Return the median duration of a test on the bench, else on all benches; None without an earlier night."""
    own = before.get((test, board, bench))
    if own:
        return statistics.median(own)
    others = [seconds for (name, of, _), each in before.items() if (name, of) == (test, board) for seconds in each]
    return statistics.median(others) if others else None


def _durations(history: History, names: set[str]) -> Durations:
    """Return the durations of tests that passed, on the last nights."""
    nights = history.nights()
    question = select(tests.c.run_id, tests.c.test, tests.c.board, tests.c.seconds).where(
        tests.c.test.in_(sorted(names)), tests.c.verdict == "pass", tests.c.seconds.is_not(None)
    )
    found: dict[tuple[str, str | None, str], list[float]] = {}
    for row in sorted(history.rows(question), key=lambda row: nights[row.run_id]):
        if not math.isfinite(row.seconds):  # the record of a stranger
            continue
        bench = history.runs[nights[row.run_id]].bench
        found.setdefault((row.test, row.board, bench), []).append(row.seconds)
    return {key: each[-NIGHTS:] for key, each in found.items()}


def _by_board(left: Sequence[Test]) -> dict[str, int]:
    found: dict[str, int] = {}
    for _, board in left:
        found[board or ""] = found.get(board or "", 0) + 1
    return found
