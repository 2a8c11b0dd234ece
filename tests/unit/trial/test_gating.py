"""Budgets of a trial: which apply, its figures beside those of the record, its verdict, and what the record says."""

from __future__ import annotations

from types import SimpleNamespace

import jsonschema
import pytest

from hil import boards
from hil.errors import RigError
from hil.gates import EarlierUnknown, parse_budgets
from hil.history.queries import Subject
from hil.history.rows import subject_columns, trial_rows
from hil.quantity import Quantity
from hil.record import quantities, schema
from hil.training.session.run_trial import _with_budgets
from hil.training.trial.gating import budgets_of, figures_of, identity
from hil.training.trial.lockstep_outcome import AccuracyPoint, LockStepOutcome, StepRow
from hil.training.trial.outcome import Outcome
from hil.training.trial.prepare import prepare
from hil.training.trial.recording import trial_record
from hil.training.trial.watermarks import RamUse, Watermarks
from hil.trial import TrialSpec

CYCLES = {"perturb": 1, "forward": 70, "backward": 5, "update": 3, "digest": 1, "total": 28_000_000}
SRAM = 18_704 + 138_000 + 1_200


def outcome_of(reality="hardware", earlier=None, rig=None, **spec):
    spec = TrialSpec("stm32h7b3", "cls1", steps=2, **spec)
    found = LockStepOutcome(prepare(spec), reality, 280_000_000)
    found.steps = [StepRow(step, 1, 1, 1, 1, 1, 1, 1, True, True, step, CYCLES) for step in range(2)]
    found.before, found.after = AccuracyPoint(0, 0.1, 0.1), AccuracyPoint(2, 0.6, 0.6)
    found.sram = RamUse(Watermarks(18_704, 138_000, 1_200))
    outcome = Outcome(spec, parse_budgets(rig or {}, "in rig.toml"), earlier, reality=reality, compared=found)
    outcome.judge()
    return outcome


def verdicts(outcome):
    return {(one.gate.name, one.gate.relative is None): one.verdict for one in outcome.judgements}


def test_the_catalogue_has_the_budgets_of_a_board():
    found = budgets_of(Outcome(TrialSpec("stm32h7b3", "cls1")))
    board = boards.load("stm32h7b3")
    assert found["sram"][0].limit == board.sram_budget("cls1", 8, "sample")
    assert found["latency"][0].limit == pytest.approx(board.latency_budget_ms("cls1", 8, "sample") / 1e3)
    assert found["sram"][0].source == "of stm32h7b3"
    assert budgets_of(Outcome(TrialSpec("stm32h7b3", "cls1", batch=64))) == {}


def test_a_test_comes_before_rig_toml_and_rig_toml_before_the_catalogue():
    near = outcome_of(rig={"sram": "2 KiB", "step_time": "1 s"}, budgets={"sram": "1 MiB"})
    assert [gate.limit for gate in budgets_of(near)["sram"]] == [1 << 20]
    assert near.verdict == "pass" and trial_record(near).sram["budget"] == 1 << 20
    far = outcome_of(rig={"sram": "2 KiB"})
    assert far.verdict == "fail" and trial_record(far).sram["budget"] == 2048
    assert f"SRAM in use is {SRAM:,} bytes, but the budget in rig.toml is 2,048 bytes." in far.reason


def test_the_figures_are_those_of_the_record():
    outcome = outcome_of()
    record = quantities(trial_record(outcome))
    found = figures_of(outcome)
    assert set(found) == {"sram", "accuracy", "step_time"}
    for name, path in (("sram", "sram.total"), ("accuracy", "accuracy.after"), ("step_time", "step_time_s")):
        one, other = found[name], record[path]
        assert (one.value, one.unit, one.provenance, one.uncertainty) == (
            other.value, other.unit, other.provenance, other.uncertainty,
        )  # fmt: skip


@pytest.mark.parametrize("reality", ["virtual", "qemu", "renode"])
def test_a_stand_in_passes_and_fails_by_counts_alone(reality):
    budgets = {"step_time": "1 ns", "sram": "1 MiB", "accuracy": "40 %"}
    outcome = outcome_of(reality, budgets=budgets)
    words = {("step_time", True): "not judged", ("sram", True): "pass", ("accuracy", True): "pass"}
    assert verdicts(outcome) == words, "and nothing of the catalogue's latency, which was not measured"
    assert outcome.verdict == "pass"
    assert outcome_of("hardware", budgets=budgets).verdict == "fail"
    assert outcome_of(reality, budgets={"sram": "1 KiB"}).verdict == "fail", "bytes are counted anywhere"


def test_a_close_accuracy_is_neither_and_says_how_many_images():
    outcome = outcome_of(budgets={"accuracy": "58 %"})
    (found,) = (one for one in outcome.judgements if one.gate.name == "accuracy")
    assert (outcome.verdict, found.verdict, found.more_of) == ("pass", "inconclusive", "test images")
    more = 500 + found.more
    assert 1.96 * (0.6 * 0.4 / more) ** 0.5 <= 0.02 < 1.96 * (0.6 * 0.4 / (more - 1)) ** 0.5


def test_a_relative_budget_asks_for_the_nights_of_this_trial():
    asked = []

    def earlier(trial, path):
        asked.append((trial, path))
        nights = [Quantity(0.1, "s", "measured")] * 10
        return [Quantity(50.0, "s", "modelled"), *nights]

    assert outcome_of(earlier=earlier, budgets={"step_time": "+1 %"}).verdict == "pass"
    ((trial, path),) = asked
    assert path == "step_time_s"
    assert (trial["board"], trial["network"], trial["reality"]) == ("stm32h7b3", "lenet5", "hardware")
    assert trial["settings"]["r_max"], "the settings decide too"

    def slower(trial, path):
        return [Quantity(0.09, "s", "measured")] * 10

    outcome = outcome_of(earlier=slower, budgets={"step_time": "+1 %"})
    assert outcome.verdict == "fail" and "+1 % on the median of the last good nights, 90.9 ms" in outcome.reason


def locked(trial, path):
    raise EarlierUnknown("the history is locked")


@pytest.mark.parametrize(
    ("earlier", "why", "more"),
    [
        (None, "nothing here reads the history", None),
        (locked, "the history is locked", None),
        (lambda trial, path: [], "no good night is in the history so far; 5 more good nights would tell it", 5),
        (
            lambda trial, path: [Quantity(0.1, "s", "measured")] * 4 + [Quantity(0.1, "s", "modelled")] * 9,
            "4 good nights are in the history so far; 1 more good night would tell it", 1,
        ),
    ],
)  # fmt: skip
def test_without_a_median_nothing_passes_or_fails(earlier, why, more):
    outcome = outcome_of(earlier=earlier, budgets={"step_time": "+1 %"})
    (found,) = (one for one in outcome.judgements if one.gate.relative is not None)
    assert (found.verdict, found.more, outcome.verdict) == ("inconclusive", more, "pass")
    assert found.sentence.endswith(f"which is not known, because {why}.")
    for one in trial_record(outcome).gates:
        jsonschema.validate(one, {"$ref": "#/$defs/Gate", "$defs": schema()["$defs"]})


@pytest.mark.parametrize("reality", ["virtual", "qemu", "renode"])
def test_a_modelled_figure_asks_for_no_nights(reality):
    def never(trial, path):
        raise AssertionError("the history was asked")

    outcome = outcome_of(reality, earlier=never, budgets={"step_time": "+1 %", "sram": "1 MiB"})
    assert verdicts(outcome)["step_time", False] == "not judged" and outcome.verdict == "pass"


SPECS = [
    {}, {"seed": 7}, {"batch": 64}, {"batch": 64, "slots": 4}, {"settings": {"r_max": 15}},
    {"schedule": ((1, {"r_max": 3}),)}, {"schedule": ((1, {"r_max": 15}),)},
]  # fmt: skip


def test_the_identity_is_the_series_of_the_record():
    """A gate looks for earlier nights by what the history writes of the record: no field is forgotten."""
    subjects = {}
    for number, spec in enumerate(SPECS):
        outcome = outcome_of(**spec)
        record = trial_record(outcome)
        assert {name: record.model_dump()[name] for name in identity(outcome)} == identity(outcome)
        columns, settings = subject_columns(identity(outcome))
        row = trial_rows(record).row
        assert columns == {name: row[name] for name in columns} and settings == trial_rows(record).settings
        assert set(columns) == set(Subject._fields) - {"bench"}
        subjects[number] = tuple(columns.values())
    assert len(set(subjects.values())) == len(SPECS), "each is a series of its own"
    assert subject_columns(identity(outcome_of("virtual")))[0] != subject_columns(identity(outcome_of()))[0]


def test_a_trial_that_starts_again_keeps_its_budgets():
    outcome = outcome_of(rig={"sram": "1 KiB"}, earlier=lambda trial, path: [])
    again = outcome.again("why")
    assert (again.budgets, again.earlier) == (outcome.budgets, outcome.earlier)


def test_the_record_has_every_budget():
    outcome = outcome_of(budgets={"step_time": ["90 ms", "+2 %"], "energy_per_step": "2 mJ"})
    record = trial_record(outcome)
    by_name = {(one["name"], one["relative"]): one for one in record.gates}
    assert by_name["step_time", None]["verdict"] == "fail" and by_name["step_time", None]["sentence"] in record.reason
    assert by_name["step_time", 0.02]["limit"] is None
    assert by_name["energy_per_step", None]["value"] is None
    assert by_name["sram", None]["source"] == "of stm32h7b3"
    for one in record.gates:
        jsonschema.validate(one, {"$ref": "#/$defs/Gate", "$defs": schema()["$defs"]})


def test_a_wrong_budget_is_refused_before_anything_starts():
    with pytest.raises(RigError, match="the budget of the test of sram is '3 J'"):
        TrialSpec("stm32h7b3", "cls1", budgets={"sram": "3 J"})


def marked(*marks):
    """What a test item gives of its markers, the nearest first."""
    return SimpleNamespace(iter_markers=lambda name: [one.mark for one in marks if one.mark.name == name])


def test_the_marker_gives_budgets_and_the_trial_comes_first():
    spec = TrialSpec("stm32h7b3", "cls1", budgets={"sram": "1 KiB"})
    near = pytest.mark.budget(sram="2 KiB", accuracy="60 %")
    far = pytest.mark.budget(accuracy="70 %", step_time="1 s")
    found = _with_budgets(spec, marked(near, far, pytest.mark.tier("quick")))
    assert found.budgets == {"sram": "1 KiB", "accuracy": "60 %", "step_time": "1 s"}
    assert _with_budgets(spec, marked()) is spec


def test_a_marker_must_name_its_figures():
    spec = TrialSpec("stm32h7b3", "cls1")
    with pytest.raises(RigError, match=r"the marker budget has '256 KiB': name the figure"):
        _with_budgets(spec, marked(pytest.mark.budget("256 KiB")))
    with pytest.raises(RigError, match="did you mean sram"):
        _with_budgets(spec, marked(pytest.mark.budget(srm="256 KiB")))
