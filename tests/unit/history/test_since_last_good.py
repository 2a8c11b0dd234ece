"""What changed since the last good night, in small histories whose answers are worked out by hand."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from pathlib import Path

import pytest

from hil.history.address import address_of
from hil.history.device_rows import device_rows
from hil.history.filters import Filter
from hil.history.live import LiveHistory
from hil.history.queries import History
from hil.history.rows import asked_row, run_row, trial_rows
from hil.history.since_last_good import NO_GOOD_NIGHT, since_last_good
from hil.history.store import Store
from hil.record import AskedTest, TrialRecord
from hil.record.device_test import DeviceTest
from hil.record.since_last_good import SinceLastGood, read_since, write_since
from tests.history_records import device_test, energy_record, record
from tests.history_year import facts

Night = list[TrialRecord] | list[DeviceTest]


def compared(folder: Path, *nights: Night, benches: str = "", expected: str = "") -> SinceLastGood:
    """Write the nights, each with a test for each trial, and return what is said of the last one.

    The test `expected` is marked xfail: it fails as expected in the nights in which its trial fails.
    """
    folder.mkdir(exist_ok=True)
    with Store(address_of(None, folder)) as store:
        for night, trials in enumerate(nights):
            bench = benches[night] if benches else ""
            with store.transaction() as writer:
                run = writer.run(run_row(facts(night, bench), None))
                for each in trials:
                    rows = device_rows(each) if isinstance(each, DeviceTest) else trial_rows(each)
                    assert rows is not None
                    writer.trial(run, rows)
                    test = AskedTest(test=each.test, board=each.board, verdict=each.verdict, reason=each.reason)
                    test.expected = each.test == expected and each.verdict == "fail"
                    writer.tests(run, [asked_row(test)])
        uid = facts(len(nights) - 1, benches[-1] if benches else "")["uid"]
        found = since_last_good(History(store), uid)
    write_since(folder, found)
    assert read_since(folder) == found, "it is read as it was written"
    return found


def bad(verdict: str, stage: str = "", **fields: object) -> TrialRecord:
    return record(0, verdict=verdict, reason="a reason.", stage=stage, **fields)


def test_an_unchanged_night_has_no_change(tmp_path: Path) -> None:
    found = compared(tmp_path, [record(0)], [record(0)])
    assert (found["words"], found["figures"], found["flaky"], found["compared"]) == ([], [], [], 1)
    assert found["sentence"] == "Since the last good night no change is shown (1 trial compared)."
    assert found["good"]["run"] == facts(0)["id"] and found["commits"] == "", "both nights tested one commit"


def test_only_the_last_runs_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lab has 1,000 runs a night: what a run reads at its end must not grow with the history."""
    monkeypatch.setattr("hil.history.since_last_good.SOUGHT", 3)
    nights = [[record(0)], [bad("fail")], [bad("fail")], [record(0)]]
    assert compared(tmp_path / "out", *nights)["sentence"] == NO_GOOD_NIGHT
    assert compared(tmp_path / "in", *nights[1:], nights[0])["good"]["run"] == facts(2)["id"]
    other = compared(tmp_path / "benches", *nights, benches="abba")
    assert other["good"]["run"] == facts(0)["id"], "runs of another bench do not count"
    with History.open(address_of(None, tmp_path / "out")) as history:
        numbers = [run.number for run in history.runs]
        for place, run in enumerate(history.runs):
            chosen = Filter(since=run.placed)
            assert [trial.run_id for trial in history.trials(chosen)] == numbers[place:]
            assert [test.run_id for test in history.tests(chosen)] == numbers[place:]
            (series,) = history.series(["step_time_s"], chosen)
            assert series.nights.tolist() == list(range(place, len(numbers)))


def test_verdict_and_digests_that_changed_are_named_with_the_commits(tmp_path: Path) -> None:
    image = copy.deepcopy(record(0).image) | {"digest": "bbbbbbbb"}
    found = compared(tmp_path, *[[record(0)]] * 3, [bad("fail", final_digest="0badf00d", image=image)])
    changed = {word["what"]: (word["before"], word["after"]) for word in found["words"]}
    assert changed == {
        "verdict": ("pass", "fail"),
        "trained tensors": (record(0).final_digest, "0badf00d"),
        "image": (record(0).image["digest"], "bbbbbbbb"),
    }
    assert (
        found["commits"] == f"{facts(2)['commit']}..{facts(3)['commit']}" and facts(2)["commit"] != facts(3)["commit"]
    )
    assert found["sentence"] == "Since the last good night 1 verdict, 2 digests changed (1 trial compared)."


def test_tests_of_one_night_only_are_no_changed_verdicts(tmp_path: Path) -> None:
    a, b, c = (record(0, test=f"test_{name}", folder=name) for name in "abc")
    sentences = {
        ("ab", "a"): "no change is shown, 1 test did not run (1 trial compared)",
        ("a", "abc"): "no change is shown, 2 tests are new (1 trial compared)",
        ("ab", "bc"): "no change is shown, 1 test did not run, 1 test is new (1 trial compared)",
    }
    of = {"a": a, "b": b, "c": c}
    for place, ((good, tonight), sentence) in enumerate(sentences.items()):
        folder = tmp_path / str(place)
        folder.mkdir()
        found = compared(folder, [of[name] for name in good], [of[name] for name in tonight])
        assert found["sentence"] == f"Since the last good night {sentence}."


def test_nights_that_were_bad_or_of_another_bench_are_no_good_nights(tmp_path: Path) -> None:
    first, other = record(0, step_time_s=0.1), record(0, step_time_s=0.2)
    blocked, last = bad("blocked", "flash", step_time_s=0.3), record(0, step_time_s=0.4)
    found = compared(tmp_path, [first], [other], [blocked], [last], benches="abaa")
    assert found["good"]["run"] == facts(0)["id"]
    (figure,) = (one for one in found["figures"] if one["name"] == "step_time_s")
    assert (figure["before"], figure["after"]) == (0.1, 0.4) and math.isclose(figure["relative"], 3.0)
    assert figure["provenance"] == "modelled" and "not evaluated" in figure["sentence"]


def test_a_good_night_of_other_tests_is_passed_over(tmp_path: Path) -> None:
    found = compared(tmp_path, [record(0)], [record(1, test="other.py::test")], [record(0)])
    assert found["good"]["run"] == facts(0)["id"]


def test_a_night_with_an_expected_failure_is_good(tmp_path: Path) -> None:
    known = bad("fail", test="flip.py::test", folder="flip")
    found = compared(tmp_path, [record(0)], [record(0), known], [record(0), known], expected=known.test)
    assert found["good"]["run"] == facts(1)["id"] and found["words"] == []


@pytest.mark.parametrize("verdict", ["fail", "blocked"])
def test_a_night_with_a_failure_that_is_not_expected_is_not_good(tmp_path: Path, verdict: str) -> None:
    """Also of a marked test: a strict mark on a test that passed, or a rig that blocked it, is not expected."""
    marked = bad(verdict, test="flip.py::test", folder="flip")
    found = compared(tmp_path, [record(0)], [record(0), marked], [record(0)])
    assert found["good"]["run"] == facts(0)["id"]


def test_a_night_of_expected_failures_alone_is_not_good(tmp_path: Path) -> None:
    known = bad("fail")
    found = compared(tmp_path, [record(0)], [known], [record(0)], expected=known.test)
    assert found["good"]["run"] == facts(0)["id"]


@pytest.mark.parametrize("nights", [[], [[bad("fail")]], [[record(0, test="other.py::test", board="rp2040")]]])
def test_without_a_good_night_one_sentence_says_so(tmp_path: Path, nights: list[Night]) -> None:
    found = compared(tmp_path, *nights, [record(0)])
    assert found["good"] is None and (found["words"], found["figures"]) == ([], [])
    assert found["sentence"].startswith("No earlier good night")


def test_the_uncertainty_decides_whether_a_difference_is_shown(tmp_path: Path) -> None:
    """65 % and 61 % of 500 differ by 4 %; u = sqrt((.65 .35 + .61 .39) / 500) = 3.05 %, and 1.96 u = 5.98 %."""
    first, last = (
        record(0, accuracy={"before": 0.1, "after": p, "reference_after": p, "n": 500}) for p in (0.65, 0.61)
    )
    found = compared(tmp_path, [first], [last])
    (figure,) = (one for one in found["figures"] if one["name"] == "accuracy.after")
    assert not figure["shown"] and "no difference is shown" in figure["sentence"] and figure["provenance"] == "counted"
    assert math.isclose(figure["low"], -0.0998, abs_tol=5e-5) and math.isclose(figure["high"], 0.0198, abs_tol=5e-5)
    assert math.isclose(figure["before_uncertainty"], 0.02133, abs_tol=5e-6)
    assert found["sentence"] == "Since the last good night no change is shown (1 trial compared)."


def test_energy_has_its_uncertainty(tmp_path: Path) -> None:
    first, last = energy_record(), energy_record()
    last.energy["per_step"] |= {"value": 2 * last.energy["per_step"]["value"]}
    (figure,) = compared(tmp_path, [first], [last])["figures"]
    assert figure["name"] == "energy.per_step" and figure["shown"] and math.isclose(figure["relative"], 1.0)
    assert figure["before_uncertainty"] == first.energy["per_step"]["uncertainty"]


def test_modelled_and_measured_figures_are_never_compared(tmp_path: Path) -> None:
    first = record(0, step_time_s=0.1, cycles_provenance="measured", reality="hardware")
    last = record(0, step_time_s=0.4, cycles_provenance="modelled", reality="hardware")
    names = {figure["name"] for figure in compared(tmp_path, [first], [last])["figures"]}
    assert not names & {"step_time_s", "cycles.total"}
    (tmp_path / "2").mkdir()
    found = compared(tmp_path / "2", [record(0, reality="hardware")], [record(0, reality="virtual")])
    assert found["compared"] == 0


def test_a_flaky_test_is_named_with_whose_fault_it_is(tmp_path: Path) -> None:
    """Six nights, blocked twice and mended twice: 2 of 6, Wilson's interval 9.7 to 70.0 %."""
    nights = [record(0), bad("blocked", "flash"), record(0), bad("blocked", "greet"), record(0), record(0)]
    (flaky,) = compared(tmp_path, *([night, record(1, test="steady.py::test")] for night in nights))["flaky"]
    assert (flaky["test"], flaky["bad"], flaky["nights"], flaky["fault"]) == (record(0).test, 2, 6, "rig")
    assert flaky["stages"] == {"flash": 1, "greet": 1}
    assert math.isclose(flaky["low"], 0.0968, abs_tol=5e-4) and math.isclose(flaky["high"], 0.7000, abs_tol=5e-4)


def test_the_history_of_a_trial_has_the_nights_that_passed(tmp_path: Path) -> None:
    times = [0.1, 0.2, 9.0, 0.3]
    nights = [[record(0, step_time_s=time)] if time < 9 else [bad("fail", step_time_s=time)] for time in times]
    (history,) = compared(tmp_path, *nights)["histories"]
    assert (history["name"], history["values"], history["folder"]) == ("step_time_s", [0.1, 0.2, 0.3], record(0).folder)


def test_a_history_that_cannot_be_opened_costs_a_sentence(tmp_path: Path) -> None:
    run = tmp_path / "reports" / facts(0)["id"]
    run.mkdir(parents=True)
    whole = facts(0) | {"state": "ended", "ended": None, "whole": True, "exit_code": 0, "missing": []}
    live = LiveHistory("sqlite:////nowhere/at/all.sqlite", run, whole)
    assert "did not answer" in live.since_last_good(whole, [], [])["sentence"]


def compares(**tensors: tuple[int, dict[str, object]]) -> list[dict[str, object]]:
    """Return the comparison of a device test by tensor: its largest ulp, and the fields of its tolerance."""
    return [
        {
            "name": "", "reference": "r", "reference_kind": "computed", "tolerance": "t", "steps": 4, "elements": 4,
            "differing": 0, "first_difference": None, "verdict": "pass", "sentence": "s.", "drift": "",
            "tensors": [
                {"tensor": name, "dtype": "float32", "shape": [], "steps": 4, "elements": 4, "differing": 0,
                 "tolerance": "t", "tolerance_fields": fields}
                for name, (_, fields) in tensors.items()
            ],
            "worst": [
                {"tensor": name, "max_ulp": most, "max_relative": most * 1e-7, "max_abs": 0.0}
                for name, (most, _) in tensors.items()
            ],
        }
    ]  # fmt: skip


CLOSE = {"kind": "close", "rtol": 1e-6, "atol": 0.0}
LOOSE = {"kind": "close", "rtol": 0.5, "atol": 0.0}
EXACT = {"kind": "exact"}
FULL = {"loss": (2, CLOSE), "w.0": (0, EXACT)}


@pytest.mark.parametrize(
    ("tonight", "words", "figures", "sentence"),
    [
        (FULL, [], [], "no change is shown"),
        ({"loss": (2, CLOSE)}, [("tensor", "w.0", "")], [], "1 tensor came or went"),
        (FULL | {"b": (0, EXACT)}, [("tensor", "", "b")], [], "1 tensor came or went"),
        (
            FULL | {"loss": (2, LOOSE)}, [("tolerance", "loss: rtol=1e-06", "loss: rtol=0.5")], [],
            "1 tolerance changed",
        ),
        (
            FULL | {"w.0": (0, LOOSE)}, [("tolerance", "w.0: exact", "w.0: rtol=0.5")], [], "1 tolerance changed",
        ),
        (FULL | {"loss": (90, CLOSE)}, [], [("drift.loss.max_ulp", 2, 90)], "1 figure changed"),
        (FULL | {"w.0": (0, {"kind": "ulp", "units": 2})}, [("tolerance", "w.0: exact", "w.0: ulp=2")], [],
         "1 tolerance changed"),
        ({}, [("tensor", "loss", ""), ("tensor", "w.0", "")], [], "2 tensors came or went"),
    ],
)  # fmt: skip
def test_what_a_device_test_no_longer_judges_is_named(
    tmp_path: Path, tonight: dict, words: list, figures: list, sentence: str
) -> None:
    nights = [device_test(7, comparisons=compares(**each)) if each else device_test(7) for each in (FULL, tonight)]
    found = compared(tmp_path, *([each] for each in nights))
    assert [(word["what"], word["before"], word["after"]) for word in found["words"]] == words
    assert [(each["name"], each["before"], each["after"]) for each in found["figures"]] == figures
    assert found["sentence"] == f"Since the last good night {sentence} (1 trial compared)."


def test_fewer_steps_and_other_figures_of_a_device_test_are_named(tmp_path: Path) -> None:
    one, other = (device_test(7, comparisons=compares(**FULL)) for _ in range(2))
    other.comparisons[0]["steps"] = 1
    other.figures = [one.figures[0] | {"unit": "kB"}, one.figures[0] | {"name": "new", "unit": "1"}]
    found = compared(tmp_path, [one], [other])
    assert [(each["name"], each["before"], each["after"], each["shown"]) for each in found["figures"]] == [
        ("steps_compared", 4, 1, True)
    ]
    assert [(word["what"], word["before"], word["after"]) for word in found["words"]] == [
        ("figure", "code (B, counted)", "code (kB, counted)"), ("figure", "", "new (counted)"),
    ]  # fmt: skip
    assert found["sentence"] == (
        "Since the last good night 1 figure changed, 2 figures came or went (1 trial compared)."
    )


def test_a_declared_figure_that_changed_is_written(tmp_path: Path) -> None:
    nights = [device_test(value) for value in (7, 8)]
    for night in nights:
        night.figures[0]["provenance"] = "declared"
    assert [each["provenance"] for each in compared(tmp_path, *([each] for each in nights))["figures"]] == ["declared"]


def test_a_night_of_an_older_version_says_nothing_of_tensors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    night = device_test(7, comparisons=compares(**FULL))
    rows = device_rows(night)
    assert rows is not None
    old = replace(rows, figures=tuple(each for each in rows.figures if not each.name.startswith("tolerance.")))
    given = iter([old, rows])
    monkeypatch.setattr(f"{__name__}.device_rows", lambda record: next(given))
    assert compared(tmp_path, [night], [night])["words"] == []


def test_a_test_that_ended_badly_says_nothing_of_what_it_judges(tmp_path: Path) -> None:
    cut = device_test(7, comparisons=compares(loss=(2, CLOSE)), verdict="fail", reason="loss differs.")
    found = compared(tmp_path, [device_test(7, comparisons=compares(**FULL))], [cut])
    assert [word["what"] for word in found["words"]] == ["verdict"] and found["figures"] == []


def test_a_test_that_ran_before_the_last_good_night_is_not_new(tmp_path: Path) -> None:
    a, b = (record(0, test=f"test_{name}", folder=name) for name in "ab")
    found = compared(tmp_path, [a, b], [a], [a, b])
    assert [(word["test"], word["before"], word["after"]) for word in found["words"]] == [
        ("test_b", "did not run", "pass")
    ]
    assert found["sentence"] == "Since the last good night no change is shown, 1 test ran again (1 trial compared)."


def test_figures_of_a_device_test_are_compared_and_drawn(tmp_path: Path) -> None:
    """Its own figures, whatever their names."""
    one, other = device_test(7), device_test(9)
    found = compared(tmp_path, [one], [device_test(7)], [other])
    (figure,) = found["figures"]
    assert (figure["name"], figure["before"], figure["after"], figure["unit"]) == ("figures.code", 7, 9, "B")
    assert figure["folder"] == other.folder and figure["provenance"] == "counted" and figure["shown"]
    assert found["sentence"] == "Since the last good night 1 figure changed (1 trial compared)."
    assert [(each["folder"], each["name"], each["values"]) for each in found["histories"]] == [
        (other.folder, "figures.code", [7, 7, 9])
    ]
    assert compared(tmp_path / "same", [one], [device_test(7)])["figures"] == []
