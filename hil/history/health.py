"""How the attached boards of a lab fare: the last verdict, what failed lately, hours of use, flash cycles.

All of it is counted from the trials of all benches that share the history, except imported runs. A board is that of a
bench, or that of a labgrid place or an id of rig.toml, which several benches may use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Integer, case, cast, func, or_, select

from hil.history.models import kinds, quantities, trials
from hil.history.nights import RunEntry
from hil.history.queries import History

NIGHTS = 14  # runs with the board in which failures are counted
FAIL = "fail"


class BoardKey(NamedTuple):
    """What a board is known by: `bench` is empty if `place` is not."""

    bench: str
    board: str
    place: str


def key_of(bench: str, board: str, place: str | None) -> BoardKey:
    """Return the key of a board: that of its labgrid place or its id, else that of its bench."""
    return BoardKey("" if place else bench, board, place or "")


@dataclass(frozen=True)
class LastTrial:
    """The last trial of a board; `at` is its begin, or that of its run in a record of an older version."""

    verdict: str
    stage: str
    reason: str
    at: datetime | None
    run: str


@dataclass
class Health:
    """How one board fares.

    Attributes:
        benches: that have used it.
        last: its last trial.
        nights: number of runs that `failures` is about.
        trials: number of trials in them.
        failures: number of bad trials in them by the stage that blocked them; `fail` for those of the device.
        use_s: sum of the durations of all trials in s.
        programmed: how often it was programmed, of the trials that are known to have been there.
        programmed_since: begin of the first run of these; None if there is none.
    """

    benches: set[str] = field(default_factory=set)
    last: LastTrial | None = None
    nights: int = 0
    trials: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    use_s: float = 0.0
    programmed: int = 0
    programmed_since: datetime | None = None


def health(history: History, nights: int = NIGHTS) -> dict[BoardKey, Health]:
    """Return how every attached board fares, by its key; four questions to the database.

    Args:
        history: open.
        nights: number of the last runs with a board in which its failures are counted.

    Raises:
        HistoryError: the history cannot be read.
    """
    places = {run.number: (place, run) for place, run in enumerate(history.runs) if not run.imported}
    found: dict[BoardKey, Health] = {}
    groups: dict[BoardKey, list[tuple[int, RunEntry, Any]]] = {}
    for row in history.rows(_counted()):
        if row.run_id in places:
            place, run = places[row.run_id]
            groups.setdefault(key_of(run.bench, row.board, row.place), []).append((place, run, row))
    for key, own in groups.items():
        found[key] = _health(own, nights)
    _add_last(history, groups, found)
    _add_use(history, places, found)
    return found


def _attached() -> ColumnElement[bool]:
    """Return the condition of trials on attached boards; a record of an older version only says its reality."""
    return or_(trials.c.attached, trials.c.attached.is_(None) & (trials.c.reality == "hardware"))


def _counted() -> Any:
    """Return the question for the number of trials by run, board, verdict and stage."""
    by = (trials.c.run_id, trials.c.board, trials.c.place, trials.c.verdict, trials.c.stage)
    written = func.sum(case((trials.c.programmed, 1), else_=0))
    return (
        select(
            *by, func.count().label("n"), func.max(trials.c.id).label("newest"),
            cast(written, Integer).label("written"), func.count(trials.c.programmed).label("known"),
        )
        .where(_attached())
        .group_by(*by)
    )  # fmt: skip


def _health(own: list[tuple[int, RunEntry, Any]], nights: int) -> Health:
    late = set(sorted({place for place, _, _ in own})[-nights:])
    health = Health(benches={run.bench for _, run, _ in own}, nights=len(late))
    known = [run.placed for _, run, row in own if row.known]
    health.programmed_since = min(known, default=None)
    for place, _, row in own:
        health.programmed += row.written
        if place in late:
            health.trials += row.n
            if row.verdict not in ("pass", "interrupted"):
                word = row.stage or row.verdict
                health.failures[word] = health.failures.get(word, 0) + row.n
    health.failures = dict(sorted(health.failures.items(), key=lambda each: (each[0] != FAIL, -each[1], each[0])))
    return health


def _add_last(
    history: History, groups: Mapping[BoardKey, list[tuple[int, RunEntry, Any]]], found: dict[BoardKey, Health]
) -> None:
    newest: dict[int, tuple[BoardKey, RunEntry]] = {}
    for key, own in groups.items():
        place = max(place for place, _, _ in own)
        run, number = max(((run, row.newest) for at, run, row in own if at == place), key=lambda each: each[1])
        newest[number] = key, run
    columns = (trials.c.id, trials.c.verdict, trials.c.stage, trials.c.reason, trials.c.began)
    for row in history.rows(select(*columns).where(trials.c.id.in_(list(newest)))):
        key, run = newest[row.id]
        found[key].last = LastTrial(row.verdict, row.stage, row.reason, row.began or run.started, run.name)


def _add_use(history: History, places: Mapping[int, tuple[int, RunEntry]], found: dict[BoardKey, Health]) -> None:
    by = (trials.c.run_id, trials.c.board, trials.c.place)
    question = (
        select(*by, func.sum(quantities.c.value).label("seconds"))
        .join(quantities, quantities.c.trial_id == trials.c.id)
        .where(quantities.c.kind_id.in_(select(kinds.c.id).where(kinds.c.name == "wall_s")), _attached())
        .group_by(*by)
    )
    for row in history.rows(question):
        if row.run_id in places:
            key = key_of(places[row.run_id][1].bench, row.board, row.place)
            found[key].use_s += row.seconds or 0.0
