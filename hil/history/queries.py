"""Ask the history: runs, trials, and series of a quantity over the nights, as arrays or data frames.

with History.open(address_of(None, Path("reports"))) as history:
    for series in history.series(["step_time_s"], Filter(board=("stm32h7b3",), verdict=("pass",))):
        print(series.trial, series.values)
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Select, func, select

from hil.history.address import Address
from hil.history.failures import HistoryError, explained
from hil.history.filters import EVERYTHING, OF_TRIALS, Filter
from hil.history.models import kinds, quantities, runs, settings, tests, trials
from hil.history.nights import EARLIEST, RunEntry, places
from hil.history.store import Store

if TYPE_CHECKING:  # imported late: it takes longer to load than most questions to answer
    import pandas as pd

BAD = ("fail", "refused", "blocked", "interrupted")


@dataclass(frozen=True)
class Subject:
    """What a series is of: trials that differ in nothing but the night."""

    bench: str
    board: str
    reality: str
    network: str
    method: str
    variant: str
    data: str
    settings: str


@dataclass(frozen=True)
class TrialEntry:
    """A trial; `settings` is the digest of its settings, `run` the number of its run in the database."""

    number: int
    run: int
    folder: str
    test: str
    board: str
    reality: str
    network: str
    method: str
    variant: str
    data: str
    settings: str
    verdict: str
    stage: str
    reason: str
    final_digest: str | None
    image: str | None


@dataclass(frozen=True)
class Series:
    """One quantity of one subject over the nights, oldest first.

    Attributes:
        values, uncertainties: float64, NaN where there is none; of n trials.
        nights: int64, the place of each trial's run in `History.runs`. Two trials of one night have the same.
        trials: int64, the number of each trial.
    """

    name: str
    unit: str
    provenance: str
    subject: Subject
    nights: NDArray[np.int64]
    trials: NDArray[np.int64]
    values: NDArray[np.float64]
    uncertainties: NDArray[np.float64]


class History:
    """An open history, to be read. What it returns is of the moment at which it was first asked."""

    def __init__(self, store: Store) -> None:
        self.store = store

    @classmethod
    def open(cls, address: Address) -> History:
        """Open a history to read it; an old one is upgraded if it can be written.

        Raises:
            HistoryError: there is none, or it cannot be read.
        """
        if address.is_file and not address.path.exists():
            cure = "`pytest --board=NAME` begins one, `hil history rebuild` makes one from the folders of runs"
            raise HistoryError(f"there is no history at {address.path}: {cure}.")
        return cls(Store(address, read_only=True))

    def __enter__(self) -> History:
        return self

    def __exit__(self, *_: object) -> None:
        self.store.close()

    @cached_property
    def runs(self) -> list[RunEntry]:
        """All runs in the order of the nights, oldest first."""
        tests_by = self._verdicts(select(tests.c.run_id, tests.c.verdict, func.count()).where(~tests.c.expected))
        trials_by = self._verdicts(select(trials.c.run_id, trials.c.verdict, func.count()))
        found = [row._asdict() for row in self._rows(select(runs))]
        placed = places([(row["id"], row["bench"], row["name"], row["after"], row["started"]) for row in found])
        found.sort(key=lambda row: (*placed[row["id"]], row["started"] or EARLIEST, row["id"]))
        return [
            RunEntry(
                number=(number := row.pop("id")), placed=placed[number][0], tests=tests_by.get(number, {}),
                trials=trials_by.get(number, {}), **row,
            )
            for row in found
        ]  # fmt: skip

    def nights(self, chosen: Filter = EVERYTHING) -> dict[int, int]:
        """Return the place in `runs` of each run of the filter's benches and times, by the number of the run."""
        return {
            run.number: place
            for place, run in enumerate(self.runs)
            if (not chosen.bench or run.bench in chosen.bench)
            and (chosen.since is None or run.placed >= chosen.since)
            and (chosen.until is None or run.placed < chosen.until)
        }

    def trials(self, chosen: Filter = EVERYTHING) -> list[TrialEntry]:
        """Return the trials of a filter, those of the oldest night first."""
        nights = self.nights(chosen)
        names = ("id", "run_id", *(field.name for field in fields(TrialEntry)[2:]))
        question = select(*(trials.c[name] for name in names))
        for name in OF_TRIALS:
            if getattr(chosen, name):
                question = question.where(trials.c[name].in_(getattr(chosen, name)))
        digests = chosen.settings
        rows = (row for row in self._rows(question) if row[1] in nights)
        found = [TrialEntry(*row[:5], row[5] or "", *row[6:]) for row in rows]
        found = [each for each in found if not digests or each.settings.startswith(digests)]
        return sorted(found, key=lambda each: (nights[each.run], each.number))

    def settings(self) -> dict[str, str]:
        """Return the settings as JSON by their digest."""
        return {row.digest: row.text for row in self._rows(select(settings))}

    def names(self, patterns: Iterable[str] = ("*",)) -> list[str]:
        """Return the names of quantities that match one of the patterns (`latency.*`)."""
        found = {name for (name,) in self._rows(select(kinds.c.name).distinct())}
        return sorted({name for pattern in patterns for name in fnmatch.filter(found, pattern)})

    def series(self, names: Sequence[str], chosen: Filter = EVERYTHING) -> list[Series]:
        """Return the series of quantities over the nights, in the order of `names` and of the subjects.

        A quantity whose unit or provenance changed is two series.
        """
        nights = self.nights(chosen)
        entries = self.trials(chosen)
        bench_of = {run.number: run.bench for run in self.runs}
        subjects: dict[Subject, int] = {}
        of_trial = np.full(max((each.number for each in entries), default=0) + 1, -1, np.int64)
        place = np.zeros(of_trial.shape, np.int64)  # of each trial in `entries`, which are in the order of the nights
        for number, each in enumerate(entries):
            subject = Subject(
                bench_of[each.run], each.board, each.reality, each.network, each.method, each.variant, each.data,
                each.settings,
            )  # fmt: skip
            of_trial[each.number] = subjects.setdefault(subject, len(subjects))
            place[each.number] = number
        night_of = np.array([nights[each.run] for each in entries], np.int64)
        number_of = np.array([each.number for each in entries], np.int64)
        found: list[tuple[Any, Series]] = []
        ordered = list(subjects)
        wanted = {name: rank for rank, name in enumerate(names)}
        for kind, name, unit, provenance in self._kinds(names):
            trial, value, uncertainty = self._values(kind)
            known = (trial < len(of_trial)) & (of_trial[np.minimum(trial, len(of_trial) - 1)] >= 0)
            trial, value, uncertainty = trial[known], value[known], uncertainty[known]
            order = np.lexsort((place[trial], of_trial[trial]))
            trial, value, uncertainty = trial[order], value[order], uncertainty[order]
            cuts = np.flatnonzero(np.diff(of_trial[trial])) + 1
            parts = zip(*(np.split(each, cuts) for each in (trial, value, uncertainty)), strict=True)
            for numbers, values, uncertainties in parts:
                if not len(numbers):
                    continue
                subject, at = ordered[of_trial[numbers[0]]], place[numbers]
                series = Series(
                    name, unit, provenance, subject, night_of[at], number_of[at], values, uncertainties
                )  # fmt: skip
                found.append(((wanted[name], astuple(subject), provenance, unit), series))
        return [series for _, series in sorted(found, key=lambda each: each[0])]

    def frame(self, names: Sequence[str], chosen: Filter = EVERYTHING) -> pd.DataFrame:
        """Return the values of quantities as a data frame: a row for each value, a column for what a series has."""
        import pandas as pd

        parts = []
        for series in self.series(names, chosen):
            runs_of = [self.runs[night] for night in series.nights]
            columns = {
                "run": [run.name for run in runs_of], "started": [run.started for run in runs_of],
                "commit": [run.commit for run in runs_of], "night": series.nights, "trial": series.trials,
                "name": series.name, "value": series.values, "uncertainty": series.uncertainties, "unit": series.unit,
                "provenance": series.provenance,
            }  # fmt: skip
            parts.append(pd.DataFrame(columns | vars(series.subject)))
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def last_good(self, chosen: Filter = EVERYTHING, before: int | None = None) -> RunEntry | None:
        """Return the last run that ended, with at least one passed trial of the filter and no bad one.

        Args:
            chosen: of the trials. A test without a trial counts by its board.
            before: place in `runs`; only runs before it.
        """
        verdicts: dict[int, set[str]] = {}
        for trial in self.trials(chosen):
            verdicts.setdefault(trial.run, set()).add(trial.verdict)
        narrow = any(getattr(chosen, name) for name in ("network", "method", "variant", "data", "reality", "settings"))
        if not narrow:
            question = select(tests.c.run_id, tests.c.verdict, tests.c.board).where(~tests.c.expected)
            for run, verdict, board in self._rows(question):
                if not chosen.board or board in chosen.board:
                    verdicts.setdefault(run, set()).add(verdict)
        places_of = self.nights(chosen)
        for run_entry in reversed(self.runs[:before]):
            found = verdicts.get(run_entry.number, set())
            good = run_entry.state == "ended" and "pass" in found and not found & set(BAD)
            if good and run_entry.number in places_of:
                return run_entry
        return None

    def _rows(self, question: Select[Any]) -> list[Any]:
        with explained(self.store.address.shown), self.store.engine.connect() as connection:
            return list(connection.execute(question))

    def _verdicts(self, question: Select[Any]) -> dict[int, dict[str, int]]:
        run, verdict = question.selected_columns[0], question.selected_columns[1]
        found: dict[int, dict[str, int]] = {}
        for number, word, count in self._rows(question.group_by(run, verdict)):
            found.setdefault(number, {})[word] = count
        return found

    def _kinds(self, names: Sequence[str]) -> list[Any]:
        """Return number, name, unit and provenance of each kind of these names."""
        wanted = set(names)
        return [row for row in self._rows(select(kinds).order_by(kinds.c.id)) if row.name in wanted]

    def _values(self, kind: int) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Return trials, values and uncertainties of a kind."""
        question = select(quantities.c.trial_id, quantities.c.value, quantities.c.uncertainty)
        rows = self._rows(question.where(quantities.c.kind_id == kind))
        if not rows:
            empty = np.empty(0)
            return empty.astype(np.int64), empty, empty
        trial, value, uncertainty = zip(*rows, strict=True)
        return np.array(trial, np.int64), np.array(value, np.float64), np.array(uncertainty, np.float64)
