"""What `hil lab` shows: a line for each board, and the runs that go on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Protocol

from hil.history.health import BoardKey, Health, health
from hil.history.quarantine import Quarantine, quarantines
from hil.history.queries import History
from hil.history.under_way import UnderWay, under_way

PROVENANCE = {  # of the figures of a line
    "failures": "counted", "use_s": "counted", "programmed": "counted", "holder": "declared", "waiting": "declared",
    "left_s": "modelled",
}  # fmt: skip


class Held(Protocol):
    """A board of rig.toml with its holder, such as a `hil.rig.holders.Seat`."""

    @property
    def board(self) -> str:
        """Name in the catalogue."""

    @property
    def place(self) -> str:
        """Its labgrid place, or its id in rig.toml; empty without either."""

    @property
    def holder(self) -> str | None:
        """Who holds it; empty if nobody does, None if it is not known."""

    @property
    def waiting(self) -> tuple[str, ...]:
        """Who waits for it."""


@dataclass(frozen=True)
class BoardLine:
    """A board.

    Attributes:
        bench, board, place: names; `bench` is empty for a board with an id or a labgrid place, and for a bench without
            a name.
        named: whether rig.toml names it; of other boards only the history tells.
        holder: who holds it; empty if nobody does, None if it is not known here.
        waiting: who waits for it.
        health: from the history.
        quarantine: None if it is in none.
        runs: those that go on and have tests left for it.
    """

    bench: str
    board: str
    place: str
    named: bool
    holder: str | None
    waiting: tuple[str, ...]
    health: Health
    quarantine: Quarantine | None
    runs: tuple[UnderWay, ...]

    @property
    def key(self) -> BoardKey:
        """What it is known by in the history."""
        return BoardKey(self.bench, self.board, self.place)


@dataclass(frozen=True)
class LabView:
    """The lab at one moment.

    Attributes:
        now: time of the view.
        nights: number of runs with a board in which its failures are counted.
        lines: the boards, those of rig.toml first.
        runs: all runs that go on, also those on stand-ins.
        notes: sentences about what could not be asked.
    """

    now: datetime
    nights: int
    lines: tuple[BoardLine, ...]
    runs: tuple[UnderWay, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the view for programs; times are in ISO 8601, durations in seconds."""
        found: dict[str, Any] = {"time": self.now, "nights": self.nights, "provenance": PROVENANCE, "notes": self.notes}
        runs = [asdict(run) | {"path": None} for run in self.runs]
        found |= {"boards": [_line(each) for each in self.lines], "runs": runs}
        return {name: _plain(each) for name, each in found.items()}


def lab_view(
    history: History | None, bench: str, seats: Sequence[Held], now: datetime, nights: int, notes: Sequence[str] = ()
) -> LabView:
    """Return the view of a lab.

    Args:
        history: open; None if there is none.
        bench: name of this bench.
        seats: boards of rig.toml with their holders.
        now: time of the view.
        nights: number of runs with a board in which its failures are counted.
        notes: sentences about what could not be asked.

    Raises:
        HistoryError: the history cannot be read.
    """
    fares, kept, runs = (
        ({}, {}, []) if history is None else (health(history, nights), quarantines(history), under_way(history))
    )
    lines: dict[BoardKey, BoardLine] = {}
    for seat in seats:
        key = BoardKey("" if seat.place else bench, seat.board, seat.place)
        lines[key] = of_board(key, bench, seat, fares, kept, runs)
    for key in sorted({*fares, *kept} - set(lines)):
        lines[key] = of_board(key, bench, None, fares, kept, runs)
    return LabView(now, nights, tuple(lines.values()), tuple(runs), tuple(notes))


def with_waiting(view: LabView, waiting: Mapping[BoardKey, Sequence[str]]) -> LabView:
    """Return the view with more who wait for a board."""
    lines = tuple(replace(line, waiting=(*line.waiting, *waiting.get(line.key, ()))) for line in view.lines)
    return replace(view, lines=lines)


def of_board(
    key: BoardKey, bench: str, seat: Held | None, fares: Mapping[BoardKey, Health],
    kept: Mapping[BoardKey, Quarantine], runs: Sequence[UnderWay],
) -> BoardLine:  # fmt: skip
    """Return the line of a board; `seat` is None for one that rig.toml does not name."""
    fare = fares.get(key, Health())
    benches = fare.benches | ({bench} if seat is not None else set())
    own = tuple(run for run in runs if key.board in run.attached and run.bench in benches)
    if key.place and seat is not None and not seat.holder:
        own = ()  # who runs a trial on a board with an id or a place holds it
    holder, waiting = (None, ()) if seat is None else (seat.holder, seat.waiting)
    return BoardLine(*key, seat is not None, holder, waiting, fare, kept.get(key), own)


def _line(line: BoardLine) -> dict[str, Any]:
    found = asdict(replace(line, runs=()))
    found["health"]["benches"] = sorted(found["health"]["benches"])
    return found | {"runs": [run.run for run in line.runs]}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):  # JSON has no infinity
        return str(value)
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value
