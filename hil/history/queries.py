"""Ask the history: runs, trials, and series of a quantity over the nights, as arrays or data frames.

with History.open(address_of(None, Path("reports"))) as history:
    for series in history.series(["step_time_s"], Filter(board=("stm32h7b3",), verdict=("pass",))):
        print(series.trial, series.values)
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Select, exists, func, or_, select

from hil.history.address import Address
from hil.history.failures import NoTables, OlderSchema, explained
from hil.history.filters import EVERYTHING, OF_TRIALS, Filter
from hil.history.models import kinds, quantities, runs, settings, tests, trials
from hil.history.nights import EARLIEST, RunEntry, places
from hil.history.store import Store
from hil.optional_library import library
from hil.record.device_quantities import DRIFT, FIGURES, STEPS, TOLERANCE, DeviceQuantity

if TYPE_CHECKING:  # imported late: it takes longer to load than most questions to answer
    import pandas as pd

BAD = ("fail", "refused", "blocked", "interrupted")


class Subject(NamedTuple):
    """What a series is of: trials that differ in nothing but the night."""

    bench: str
    board: str
    reality: str
    network: str
    method: str
    variant: str
    data: str
    settings: str


class TrialEntry(NamedTuple):
    """A trial; `settings` is the digest of its settings, `run_id` the number of its run in the database."""

    id: int
    run_id: int
    folder: str
    test: str
    board: str
    reality: str | None
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


class AskedEntry(NamedTuple):
    """How a test ended in a run; `run_id` is the number of the run in the database."""

    run_id: int
    test: str
    board: str | None
    verdict: str
    expected: bool


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

    def without(self, nights: Collection[int]) -> Series:
        """Return the series without some nights, given by their place in `History.runs`."""
        kept = ~np.isin(self.nights, list(nights))
        arrays = {name: getattr(self, name)[kept] for name in ("nights", "trials", "values", "uncertainties")}
        return replace(self, **arrays)


class History:
    """An open history, to be read. What it returns is of the moment at which it was first asked.

    Args:
        store: to read from.
        counted: whether its runs have the counts of their tests and trials, for which every row is looked at.
    """

    def __init__(self, store: Store, counted: bool = True) -> None:
        self.store, self._counted = store, counted

    @classmethod
    def open(cls, address: Address) -> History:
        """Open a history to read it; an old one is upgraded if it can be written.

        Raises:
            HistoryError: there is none, or it cannot be read.
        """
        if address.is_file and not address.path.exists():
            cure = "`pytest --board=NAME` begins one, `hil history rebuild` makes one from the folders of runs"
            raise NoTables(f"there is no history at {address.path}: {cure}.", "is not there yet")
        try:
            return cls(Store(address, read_only=True))
        except OlderSchema:
            Store(address).close()  # it is upgraded
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
        found = [row._asdict() for row in self.rows(select(runs))]
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
        return [TrialEntry(*row) for row in self._trials(chosen, TrialEntry._fields)]

    def tests(self, chosen: Filter = EVERYTHING) -> list[AskedEntry]:
        """Return the tests of the benches, boards and times of a filter."""
        nights = self.nights(chosen)
        question = select(*(tests.c[name] for name in AskedEntry._fields))
        question = question.where(tests.c.board.in_(chosen.board)) if chosen.board else question
        question = question.where(tests.c.run_id >= self._first(chosen))
        return [AskedEntry(*row) for row in self.rows(question) if row.run_id in nights]

    def settings(self) -> dict[str, str]:
        """Return the settings as JSON by their digest."""
        return {row.digest: row.text for row in self.rows(select(settings))}

    def names(self, patterns: Iterable[str] = ("*",)) -> list[str]:
        """Return the names of quantities that match one of the patterns (`latency.*`)."""
        found = {name for (name,) in self.rows(select(kinds.c.name).distinct())}
        return sorted({name for pattern in patterns for name in fnmatch.filter(found, pattern)})

    def series(self, names: Sequence[str], chosen: Filter = EVERYTHING) -> list[Series]:
        """Return the series of quantities over the nights, in the order of `names` and of the subjects.

        A quantity whose unit or provenance changed is two series.
        """
        nights = self.nights(chosen)
        rows = self._trials(chosen, ("id", "run_id", *Subject._fields[1:]))
        bench_of = {run.number: run.bench for run in self.runs}
        subjects: dict[tuple[Any, ...], int] = {}
        subject_of = [subjects.setdefault((bench_of[row[1]], *row[2:]), len(subjects)) for row in rows]
        ordered = [Subject(*(word or "" for word in subject)) for subject in subjects]
        number_of = np.array([row[0] for row in rows], np.int64)
        night_of = np.array([nights[row[1]] for row in rows], np.int64)
        place = np.full(int(number_of.max(initial=0)) + 1, -1, np.int64)  # in `rows`, of each trial by its number
        place[number_of] = np.arange(len(rows))
        subject_at = np.array(subject_of, np.int64)
        found: list[tuple[Any, Series]] = []
        wanted = {name: rank for rank, name in enumerate(names)}
        for kind, name, unit, provenance in self._kinds(names):
            trial, value, uncertainty = self._values(kind, int(number_of.min()) if len(number_of) else 0)
            at = np.where(trial < len(place), place[np.minimum(trial, len(place) - 1)], -1)
            kept = at >= 0
            at, value, uncertainty = at[kept], value[kept], uncertainty[kept]
            order = np.lexsort((at, subject_at[at]))
            at, value, uncertainty = at[order], value[order], uncertainty[order]
            cuts = np.flatnonzero(np.diff(subject_at[at])) + 1
            parts = zip(*(np.split(each, cuts) for each in (at, value, uncertainty)), strict=True)
            for places_of, values, uncertainties in parts:
                if len(places_of):
                    subject = ordered[subject_at[places_of[0]]]
                    arrays = (night_of[places_of], number_of[places_of], values, uncertainties)
                    series = Series(name, unit, provenance, subject, *arrays)
                    found.append(((wanted[name], subject, provenance, unit), series))
        return [series for _, series in sorted(found, key=lambda each: each[0])]

    def names_in(self, run: int, prefix: str) -> list[str]:
        """Return the names of the quantities of the trials of a run, by its number, that begin so; sorted."""
        question = select(kinds.c.name).distinct().join(quantities, quantities.c.kind_id == kinds.c.id)
        question = question.join(trials, trials.c.id == quantities.c.trial_id)
        question = question.where(trials.c.run_id == run, kinds.c.name.startswith(prefix, autoescape=True))
        return sorted(row.name for row in self.rows(question))

    def device_quantities(self, run: int) -> dict[int, list[DeviceQuantity]]:
        """Return what device tests of a run are compared in, and the steps of its trials, by the number of the trial.

        Of a number that is none, or infinite, only the name is known: its value is 0.
        """
        columns = (quantities.c.trial_id, kinds.c.name, kinds.c.unit, kinds.c.provenance, quantities.c.value)
        question = select(*columns).join(kinds, quantities.c.kind_id == kinds.c.id)
        question = question.join(trials, trials.c.id == quantities.c.trial_id).where(trials.c.run_id == run)
        begins = [kinds.c.name.startswith(prefix, autoescape=True) for prefix in (FIGURES, DRIFT, TOLERANCE)]
        found: dict[int, list[DeviceQuantity]] = {}
        for trial, name, unit, provenance, value in self.rows(question.where(or_(kinds.c.name == STEPS, *begins))):
            known = value if value is not None and math.isfinite(value) else 0.0
            found.setdefault(trial, []).append(DeviceQuantity(name, unit, provenance, known, None))
        return {trial: sorted(each) for trial, each in found.items()}

    def frame(self, names: Sequence[str], chosen: Filter = EVERYTHING) -> pd.DataFrame:
        """Return the values of quantities as a data frame: a row for each value, a column for what a series has.

        Raises:
            RigError: pandas is not installed.
        """
        frames = library("pandas", "data frame of a history", "frames")
        parts = []
        for series in self.series(names, chosen):
            runs_of = [self.runs[night] for night in series.nights]
            columns = {
                "run": [run.name for run in runs_of], "started": [run.started for run in runs_of],
                "commit": [run.commit for run in runs_of], "night": series.nights, "trial": series.trials,
                "name": series.name, "value": series.values, "uncertainty": series.uncertainties, "unit": series.unit,
                "provenance": series.provenance,
            }  # fmt: skip
            parts.append(frames.DataFrame(columns | series.subject._asdict()))
        found: pd.DataFrame = frames.concat(parts, ignore_index=True) if parts else frames.DataFrame()
        return found

    def last_good(
        self, chosen: Filter = EVERYTHING, before: int | None = None, among: Collection[int] | None = None
    ) -> RunEntry | None:
        """Return the last run that ended, with at least one passed trial of the filter and no bad one.

        A trial of a test that failed as expected is not bad. A test with a strict mark that passed has failed.

        Args:
            chosen: of the trials. A test without a trial counts by its board.
            before: place in `runs`; only runs before it.
            among: numbers of runs, only these; None for all.
        """
        verdicts: dict[int, set[str]] = {}
        as_expected = exists().where(tests.c.run_id == trials.c.run_id, tests.c.test == trials.c.test, tests.c.expected)
        found = [self._where(select(trials.c.run_id, trials.c.verdict).where(~as_expected), chosen)]
        if not any(getattr(chosen, name) for name in ("network", "method", "variant", "data", "reality", "settings")):
            question = select(tests.c.run_id, tests.c.verdict).where(~tests.c.expected)
            question = question.where(tests.c.run_id >= self._first(chosen))
            found.append(question.where(tests.c.board.in_(chosen.board)) if chosen.board else question)
        for run, verdict in (row for question in found for row in self.rows(question.distinct())):
            verdicts.setdefault(run, set()).add(verdict)
        places_of = self.nights(chosen)
        for run_entry in reversed(self.runs[:before]):
            words = verdicts.get(run_entry.number, set())
            good = run_entry.state == "ended" and "pass" in words and not words & set(BAD)
            if good and run_entry.number in places_of and (among is None or run_entry.number in among):
                return run_entry
        return None

    def rows(self, question: Select[Any]) -> list[Any]:
        """Return the rows of a question. Raises HistoryError if the history cannot be read."""
        with explained(self.store.address.shown), self.store.engine.connect() as connection:
            return list(connection.execute(question).all())

    def _trials(self, chosen: Filter, names: Sequence[str]) -> list[Any]:
        """Return columns of the trials of a filter, those of the oldest night first; `id` and `run_id` lead `names`."""
        nights = self.nights(chosen)
        rows = self._plain_rows(self._where(select(*(trials.c[name] for name in names)), chosen))
        return sorted((row for row in rows if row[1] in nights), key=lambda row: (nights[row[1]], row[0]))

    def _first(self, chosen: Filter) -> int:
        """Return the least number of a run since a filter begins: what is older need not leave the database."""
        return min(self.nights(chosen), default=0) if chosen.since is not None else 0

    def _where(self, question: Select[Any], chosen: Filter) -> Select[Any]:
        """Return a question about trials with the conditions of a filter; of those about runs only its beginning."""
        question = question.where(trials.c.run_id >= self._first(chosen))
        for name in OF_TRIALS:
            if getattr(chosen, name):
                question = question.where(trials.c[name].in_(getattr(chosen, name)))
        begins = [trials.c.settings.startswith(digest, autoescape=True) for digest in chosen.settings]
        return question.where(or_(*begins)) if begins else question

    def _plain_rows(self, question: Select[Any]) -> list[Any]:
        """Return the rows of numbers and texts as the database gives them, which takes half the time of `rows`."""
        with explained(self.store.address.shown), self.store.engine.connect() as connection:
            cursor = connection.execute(question).cursor
            return list(cursor.fetchall()) if cursor is not None else []

    def _verdicts(self, question: Select[Any]) -> dict[int, dict[str, int]]:
        if not self._counted:
            return {}
        run, verdict = question.selected_columns[0], question.selected_columns[1]
        found: dict[int, dict[str, int]] = {}
        for number, word, count in self.rows(question.group_by(run, verdict)):
            found.setdefault(number, {})[word] = count
        return found

    def names_below(self, prefix: str) -> list[str]:
        """Return the names of all quantities that begin with a prefix, sorted."""
        return sorted({row.name for row in self.rows(select(kinds)) if row.name.startswith(prefix)})

    def _kinds(self, names: Sequence[str]) -> list[Any]:
        """Return number, name, unit and provenance of each kind of these names."""
        wanted = set(names)
        return [row for row in self.rows(select(kinds).order_by(kinds.c.id)) if row.name in wanted]

    def _values(self, kind: int, first: int) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Return trials, values and uncertainties of a kind, from a number of a trial on."""
        question = select(quantities.c.trial_id, quantities.c.value, quantities.c.uncertainty)
        rows = self._plain_rows(question.where(quantities.c.kind_id == kind, quantities.c.trial_id >= first))
        trial, value, uncertainty = ([row[column] for row in rows] for column in range(3))
        return np.array(trial, np.int64), np.array(value, np.float64), np.array(uncertainty, np.float64)
