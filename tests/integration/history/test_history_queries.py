"""What the history answers, against the records themselves in plain loops."""

from __future__ import annotations

import json
import math
import statistics
from datetime import timedelta
from pathlib import Path

import pytest

from hil.history.address import Address, address_of
from hil.history.filters import Filter
from hil.history.overview import HEADLINES, lines
from hil.history.queries import History
from hil.history.rows import asked_row, run_row, trial_rows
from hil.history.store import Store
from hil.record import AskedTest, TrialRecord, quantities
from tests.history_records import record
from tests.history_year import FIRST, facts

NIGHTS = 5


def trials_of(night: int) -> list[TrialRecord]:
    """Three trials a night with other values; one is missing in the second night, and one fails in the fourth."""
    found = [
        record(0, step_time_s=0.1 + night / 100, folder="a"),
        record(15, step_time_s=0.2 + (night * 7 % 5) / 100, folder="b", board="rp2040"),
        record(15, step_time_s=0.3 + night / 100, folder="c", board="rp2040", seed=2),
    ]
    if night == 1:
        del found[2]
    if night == 3:
        found[1] = record(15, folder="b", board="rp2040", verdict="fail", reason="it differs.", step_time_s=9.0)
    return found


@pytest.fixture
def history(address: Address):
    with Store(address) as store:
        for night in (2, 0, 1, 4, 3):  # as if some were sent later
            with store.transaction() as writer:
                run = writer.run(run_row(facts(night), None))
                for each in trials_of(night):
                    writer.trial(run, trial_rows(each))
                    writer.tests(
                        run,
                        [
                            asked_row(
                                AskedTest(
                                    test=f"{each.test}{each.folder}",
                                    board=each.board,
                                    verdict=each.verdict,
                                    reason=each.reason,
                                )
                            )
                        ],
                    )
    with History.open(address) as history:
        yield history


def test_runs_are_in_the_order_of_the_nights_with_their_verdicts(history: History) -> None:
    assert [run.started for run in history.runs] == [FIRST + timedelta(days=night) for night in range(NIGHTS)]
    assert [run.trials for run in history.runs] == [
        {"pass": 3},
        {"pass": 2},
        {"pass": 3},
        {"pass": 2, "fail": 1},
        {"pass": 3},
    ]
    assert history.runs[3].tests == {"pass": 2, "fail": 1}
    assert (history.runs[0].commit, history.runs[0].host) == (facts(0)["commit"], "Linux x86_64 2")


CHOICES = (
    Filter(), Filter(board=("rp2040",)), Filter(verdict=("pass",)), Filter(board=("rp2040",), verdict=("fail",)),
    Filter(method=("none",)), Filter(since=FIRST + timedelta(days=2)),
    Filter(since=FIRST + timedelta(days=1), until=FIRST + timedelta(days=3)),
)  # fmt: skip


def test_series_are_those_of_the_records(history: History) -> None:
    for chosen in CHOICES:
        check_series(history, chosen)


def check_series(history: History, chosen: Filter) -> None:
    names = ["step_time_s", "accuracy.after", "cycles.total"]
    expected = {}
    for night in range(NIGHTS):
        at = FIRST + timedelta(days=night)
        if (chosen.since is not None and at < chosen.since) or (chosen.until is not None and at >= chosen.until):
            continue
        for each in trials_of(night):
            if any(
                getattr(chosen, key) and getattr(each, key) not in getattr(chosen, key)
                for key in ("board", "verdict", "method")
            ):
                continue
            for name, value in quantities(each).items():
                if name in names:
                    expected.setdefault((name, each.folder), []).append((night, value.value))
    series = history.series(names, chosen)
    found = {}
    trials = {trial.id: trial for trial in history.trials()}
    for each in series:
        folder = {trials[number].folder for number in each.trials}
        assert len(folder) == 1, "trials with other settings are another series"
        found[each.name, folder.pop()] = list(zip(each.nights.tolist(), each.values.tolist(), strict=True))
    assert found == expected
    assert [each.name for each in series] == sorted((each.name for each in series), key=names.index)


def test_the_frame_has_a_row_for_each_value(history: History) -> None:
    frame = history.frame(["step_time_s"])
    assert len(frame) == sum(len(trials_of(night)) for night in range(NIGHTS))
    assert set(frame.columns) >= {"run", "started", "commit", "board", "network", "method", "value", "unit", "settings"}
    of_a = frame[frame.board == "stm32h7b3"].sort_values("night")
    assert of_a.value.tolist() == [0.1 + night / 100 for night in range(NIGHTS)]


def test_the_last_good_night_is_the_last_in_which_everything_chosen_passed(history: History) -> None:
    def night(chosen: Filter, before: int | None = None) -> int | None:
        run = history.last_good(chosen, before)
        return None if run is None else history.runs.index(run)

    assert night(Filter()) == 4
    assert night(Filter(), before=4) == 2, "in the fourth night a trial failed"
    assert night(Filter(board=("stm32h7b3",)), before=4) == 3, "on the other board"
    assert night(Filter(until=FIRST + timedelta(days=2))) == 1
    assert night(Filter(), before=0) is None and night(Filter(board=("none",))) is None


def test_the_overview_compares_the_last_night_with_those_before(history: History) -> None:
    found = {
        (line.name, line.subject.board, line.subject.settings): line
        for line in lines(history.series(history.names(HEADLINES), Filter(verdict=("pass",))), history.runs)
    }
    for first in trials_of(0):
        values = [
            each.step_time_s for night in range(NIGHTS) for each in trials_of(night)
            if each.folder == first.folder and each.verdict == "pass"
        ]  # fmt: skip
        line = found["step_time_s", first.board, trial_rows(first).row["settings"]]
        assert line.last == values[-1] and line.nights == len(values)
        assert line.median == pytest.approx(statistics.median(values[:-1]))
    assert {line.name for line in found.values()} == {"step_time_s", "accuracy.after", "sram.total"}


def test_a_value_that_is_no_number_is_said_and_spoils_no_median(tmp_path: Path) -> None:
    address = address_of(None, tmp_path)
    with Store(address) as store:
        for night, value in enumerate((1.0, math.nan, 3.0, math.inf)):
            rows = trial_rows(record(step_time_s=2.0))
            figures = [each for each in rows.figures if each.name == "step_time_s"]
            object.__setattr__(figures[0], "value", None if math.isnan(value) else value)
            with store.transaction() as writer:
                writer.trial(
                    writer.run(run_row(facts(night), None)), type(rows)(rows.row, rows.settings, tuple(figures))
                )
    with History.open(address) as history:
        (line,) = lines(history.series(history.names(["step_time_s"]), Filter()), history.runs)
        (early,) = lines(
            history.series(history.names(["step_time_s"]), Filter(until=FIRST + timedelta(days=2))), history.runs
        )
    assert (line.last, line.median, line.nights) == (math.inf, 2.0, 4)
    assert (early.last, early.median) == (None, 1.0)
    assert json.loads(json.dumps(line.to_json(), allow_nan=False))["last"] == "inf"
