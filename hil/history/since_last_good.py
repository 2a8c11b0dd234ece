"""What the history says of a run: changes since the last good night, flaky tests, and the last nights of its trials.

Device tests count as trials: the history keeps them as such (hil/history/device_rows.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from hil.commit import commit_range, whole_commit
from hil.history.filters import Filter
from hil.history.nights import RunEntry
from hil.history.queries import AskedEntry, History, Series, TrialEntry
from hil.history.statistics import Result, difference, flakiness
from hil.quantity import Provenance, Quantity
from hil.record.device_quantities import DeviceQuantity, changed_scope, is_compared
from hil.record.since_last_good import (
    NO_GOOD_NIGHT,
    NOT_IN_HISTORY,
    NOT_RUN,
    ChangedFigure,
    ChangedWord,
    FlakyTest,
    GoodNight,
    SinceLastGood,
    TrialHistory,
    changes_in_words,
    nothing_known,
)  # fmt: skip

COMPARED = ("accuracy.after", "step_time_s", "cycles.total", "energy.per_step", "sram.total")
OF_DEVICE_TESTS = "figures."  # what the names of their figures begin with; all are compared
DRAWN = ("step_time_s", "sram.total", "accuracy.after")  # the first that a trial has is drawn over the nights
SOUGHT = 200  # runs of a bench, this one too, in which the last good night is sought; a lab may have 1,000 a night
LAST_NIGHTS = 60  # before the run, in which flaky tests are sought
MOST_DRAWN = 30  # nights of a drawing

Key = tuple[str, str, str | None, str, str, str, str, str]


def since_last_good(history: History, uid: str) -> SinceLastGood:
    """Return what the history says of the run with this identity, which it already has.

    Raises:
        HistoryError: the history cannot be read.
        RigError: it does not have the run.
    """
    place = next((place for place, run in enumerate(history.runs) if run.uid == uid), None)
    if place is None:
        return nothing_known(NOT_IN_HISTORY)
    tonight = history.runs[place]
    ours_before = [run for run in history.runs[: place + 1] if run.bench == tonight.bench][-SOUGHT:]
    bench = Filter(bench=(tonight.bench,), since=ours_before[0].placed)
    nights = history.nights()
    trials = [trial for trial in history.trials(bench) if nights[trial.run_id] <= place]
    asked = [test for test in history.tests(bench) if nights[test.run_id] <= place]
    ours = [trial for trial in trials if trial.run_id == tonight.number]
    run_tonight = {(trial.test, trial.board) for trial in ours}
    alike = {trial.run_id for trial in trials if (trial.test, trial.board) in run_tonight}
    good = history.last_good(bench, before=place, among=alike)
    given = history.names_in(tonight.number, OF_DEVICE_TESTS)
    series = history.series([*COMPARED, *given], bench)
    found = nothing_known(NO_GOOD_NIGHT)
    if good is not None:
        theirs = [trial for trial in trials if trial.run_id == good.number]
        pairs = _pairs(theirs, ours)
        scope = history.device_quantities(good.number), history.device_quantities(tonight.number)
        words = [*_verdicts(asked, good, tonight), *(word for pair in pairs for word in _digests(*pair))]
        words += [word for pair in pairs for word in _scopes(*pair, *scope)]
        figures = _in_order([*_figures(pairs, series), *_of_comparisons(pairs, *scope)])
        found["good"] = GoodNight(
            run=good.name, time=good.started.isoformat() if good.started else "", commit=good.commit or ""
        )
        found |= {"commits": commit_range(good.commit, tonight.commit), "compared": len(pairs)}
        found |= {"words": words, "figures": figures, "sentence": changes_in_words(len(pairs), words, figures)}
    found["flaky"] = _flaky(history, asked, trials, tonight, place)
    found["histories"] = _histories(ours, trials, series, place, (*DRAWN, *given))
    return found


def _key(trial: TrialEntry) -> Key:
    """Return what two trials share that differ in nothing but the night."""
    return (
        trial.test, trial.board, trial.reality, trial.network, trial.method, trial.variant, trial.data, trial.settings,
    )  # fmt: skip


def _pairs(theirs: Sequence[TrialEntry], ours: Sequence[TrialEntry]) -> list[tuple[TrialEntry, TrialEntry]]:
    """Return each trial of the good night with the same trial of this run; of several alike, in their order."""
    left: dict[Key, list[TrialEntry]] = {}
    for trial in theirs:
        left.setdefault(_key(trial), []).append(trial)
    return [(left[_key(trial)].pop(0), trial) for trial in ours if left.get(_key(trial))]


def _verdicts(asked: Sequence[AskedEntry], good: RunEntry, tonight: RunEntry) -> list[ChangedWord]:
    """Return the tests whose verdict changed, also those that only one of the runs has."""
    before, after = (
        {(test.test, test.board or ""): test.verdict for test in asked if test.run_id == run.number}
        for run in (good, tonight)
    )
    earlier = {(test.test, test.board or "") for test in asked if test.run_id != tonight.number}
    before |= {test: NOT_RUN for test in after if test in earlier and test not in before}
    return [
        ChangedWord(
            test=test, board=board, folder="", what="verdict", before=before.get((test, board), ""),
            after=after.get((test, board), ""),
        )
        for test, board in (*after, *(each for each in before if each not in after))
        if before.get((test, board)) != after.get((test, board))
    ]  # fmt: skip


def _digests(their: TrialEntry, our: TrialEntry) -> list[ChangedWord]:
    """Return the digests that changed. A trial that ended before it had one says nothing."""
    ends = {"trained tensors": (their.final_digest, our.final_digest), "image": (their.image, our.image)}
    return [
        ChangedWord(test=our.test, board=our.board, folder=our.folder, what=what, before=before, after=after)  # type: ignore[typeddict-item]  # a key of `ends`
        for what, (before, after) in ends.items()
        if before and after and before != after
    ]


def _scopes(
    their: TrialEntry, our: TrialEntry, theirs: Mapping[int, list[DeviceQuantity]],
    ours: Mapping[int, list[DeviceQuantity]],
) -> list[ChangedWord]:  # fmt: skip
    """Return the figures, tensors and tolerances that one of two trials does not have, or has otherwise.

    One that did not pass ended before it had all of them, and says nothing.
    """
    if not _both_passed(their, our):
        return []
    return [
        ChangedWord(test=our.test, board=our.board, folder=our.folder, what=what, before=before, after=after)  # type: ignore[typeddict-item]  # one of SCOPE
        for what, before, after in changed_scope(theirs.get(their.id, []), ours.get(our.id, []))
    ]


def _of_comparisons(
    pairs: Sequence[tuple[TrialEntry, TrialEntry]], theirs: Mapping[int, list[DeviceQuantity]],
    ours: Mapping[int, list[DeviceQuantity]],
) -> list[ChangedFigure]:  # fmt: skip
    """Return the numbers of steps that were compared, and the largest errors of tensors, that differ, as `_scopes`."""
    found: list[ChangedFigure] = []
    for their, our in (pair for pair in pairs if _both_passed(*pair)):
        before = {each.name: each for each in theirs.get(their.id, []) if is_compared(each.name)}
        for after in (each for each in ours.get(our.id, []) if each.name in before):
            values = (
                Quantity(each.value, each.unit, Provenance(each.provenance)) for each in (before[after.name], after)
            )
            found += _changed(our, after.name, *values)
    return found


def _both_passed(their: TrialEntry, our: TrialEntry) -> bool:
    return their.verdict == our.verdict == "pass"


def _changed(our: TrialEntry, name: str, before: Quantity, after: Quantity) -> list[ChangedFigure]:
    """Return a figure if it differs, else none."""
    between = difference(before, after)
    if not between.quantity.value:
        return []
    return [
        ChangedFigure(
            test=our.test, folder=our.folder, name=name, unit=after.unit, provenance=after.provenance.value,
            before=before.value, before_uncertainty=before.uncertainty, after=after.value,
            after_uncertainty=after.uncertainty, low=between.low, high=between.high,
            relative=between.relative, shown=not between.low <= 0 <= between.high, sentence=between.sentence,
        )
    ]  # fmt: skip


def _in_order(figures: Sequence[ChangedFigure]) -> list[ChangedFigure]:
    """Return figures in the order in which they are read: those whose difference is shown first."""
    rank = {name: at for at, name in enumerate(dict.fromkeys(each["name"] for each in figures))}
    return sorted(figures, key=lambda one: (not one["shown"], rank[one["name"]], -abs(one["relative"] or 0)))


def _figures(pairs: Sequence[tuple[TrialEntry, TrialEntry]], series: Sequence[Series]) -> list[ChangedFigure]:
    """Return the figures that differ, in the order of the series.

    A series has one unit and one provenance, so that a modelled figure is never compared with a measured one.
    """
    found: list[ChangedFigure] = []
    paired = [trial.id for pair in pairs for trial in pair]
    known = [(each, _values(each, paired)) for each in series]
    for their, our in pairs:
        for each, values in known:
            if their.id not in values or our.id not in values:
                continue
            found += _changed(our, each.name, values[their.id], values[our.id])
    rank = {name: at for at, name in enumerate(dict.fromkeys(each.name for each in series))}
    return sorted(found, key=lambda one: rank[one["name"]])


def _values(series: Series, trials: Sequence[int]) -> dict[int, Quantity]:
    """Return the finite values of these trials in a series, by the number of the trial."""
    chosen = np.isin(series.trials, trials) & np.isfinite(series.values)
    columns = (series.trials[chosen], series.values[chosen], series.uncertainties[chosen])
    return {
        int(trial): Quantity(
            float(value), series.unit, Provenance(series.provenance), float(sigma) if math.isfinite(sigma) else None
        )
        for trial, value, sigma in zip(*columns, strict=True)
    }


def _flaky(
    history: History, asked: Sequence[AskedEntry], trials: Sequence[TrialEntry], tonight: RunEntry, place: int
) -> list[FlakyTest]:
    """Return the flaky tests of this run, the worst first. An expected failure is as it should be, and left out."""
    nights, commits = history.nights(), {run.number: whole_commit(run.commit) for run in history.runs}
    stages = {(trial.run_id, trial.test): trial.stage for trial in trials if trial.stage}
    ours = {(test.test, test.board) for test in asked if test.run_id == tonight.number}
    results: dict[tuple[str, str | None], list[Result]] = {}
    for test in sorted(asked, key=lambda test: nights[test.run_id]):
        key = test.test, test.board
        if key in ours and not test.expected and nights[test.run_id] >= place - LAST_NIGHTS:
            stage = stages.get((test.run_id, test.test), "")
            results.setdefault(key, []).append(Result(test.verdict, stage, commits[test.run_id]))
    found = []
    for (name, board), each in results.items():
        said = flakiness(each)
        if said.flaky:
            found.append(
                FlakyTest(
                    test=name, board=board or "", bad=said.bad.count, nights=said.bad.n, low=said.bad.low,
                    high=said.bad.high, fault=said.fault, stages=said.stages,  # type: ignore[typeddict-item]  # one of four words
                )
            )  # fmt: skip
    return sorted(found, key=lambda one: -one["bad"] / one["nights"])


def _histories(
    ours: Sequence[TrialEntry], trials: Sequence[TrialEntry], series: Sequence[Series], place: int,
    names: Sequence[str],
) -> list[TrialHistory]:  # fmt: skip
    """Return for each trial of this run the first of some figures over the nights in which it passed."""
    key_of = {trial.id: _key(trial) for trial in trials if trial.verdict == "pass"}
    found = []
    over: dict[tuple[str, Key], tuple[Series, list[float]]] = {}
    for each in (one for one in series if one.name in names):
        for trial, night, value in zip(each.trials, each.nights, each.values, strict=True):
            if night <= place and int(trial) in key_of and math.isfinite(value):
                over.setdefault((each.name, key_of[int(trial)]), (each, []))[1].append(float(value))
    for trial in ours:
        drawn = next((over[name, _key(trial)] for name in names if (name, _key(trial)) in over), None)
        if drawn is not None and len(drawn[1]) > 1:
            found.append(
                TrialHistory(
                    folder=trial.folder, name=drawn[0].name, unit=drawn[0].unit, provenance=drawn[0].provenance,  # type: ignore[typeddict-item]  # of a record
                    values=drawn[1][-MOST_DRAWN:],
                )
            )  # fmt: skip
    return found
