"""Budgets as users write them, and what is said of a figure beside its budget."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.errors import RigError
from hil.gates import FIGURES, FigureGate, More, NoMedian, judge, nearest, parse_budgets
from hil.quantity import Quantity, in_words, parse_quantity


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("256 KiB", 262_144, "B"), ("256KiB", 262_144, "B"), ("1.5 kB", 1500, "B"), ("2 MiB", 2 << 20, "B"),
        ("310 ms", 0.31, "s"), ("2 s", 2, "s"), ("75 us", 75e-6, "s"), ("75 µs", 75e-6, "s"), ("75 \u03bcs", 75e-6, "s"),
        ("2.5 mJ", 0.0025, "J"), ("1e-3 J", 0.001, "J"), ("65 %", 0.65, "1"), (" 65% ", 0.65, "1"),
    ],
)  # fmt: skip
def test_quantities_as_people_write_them(text, value, unit):
    found = parse_quantity(text)
    assert (found.value, found.unit, found.provenance.value) == (pytest.approx(value), unit, "declared")
    assert isinstance(found.value, int) == (unit == "B"), "bytes are whole"


@pytest.mark.parametrize(
    "text", ["", "256", "KiB", "-3 ms", "256 KiBs", "1,5 ms", "inf s", "nan J", "1e999 s", "3 ms 4", "<b>", "3 %%"]
)
def test_anything_else_is_refused_with_an_example(text):
    with pytest.raises(RigError, match="256 KiB, 310 ms, 2.5 mJ or 65 %"):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (262_144, "B", "262,144 bytes"), (0.31, "s", "310 ms"), (2.5, "s", "2.5 s"), (75e-6, "s", "75 us"),
        (0.0, "J", "0 J"), (-0.002, "J", "-2 mJ"), (0.65, "1", "65 %"), (3.0, "W", "3 W"),
    ],
)  # fmt: skip
def test_quantities_in_sentences(value, unit, words):
    assert in_words(value, unit) == words


def test_a_table_of_budgets():
    found = parse_budgets({"sram": "256 KiB", "step_time": ["310 ms", "+2 %"], "accuracy": "-1.5%"}, "in rig.toml")
    assert found == {
        "sram": [FigureGate("sram", "in rig.toml", 262_144)],
        "step_time": [
            FigureGate("step_time", "in rig.toml", 0.31),
            FigureGate("step_time", "in rig.toml", relative=0.02),
        ],
        "accuracy": [FigureGate("accuracy", "in rig.toml", relative=-0.015)],
    }
    assert parse_budgets({}, "in rig.toml") == {}


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"sram": 262144}, "in quotes"),
        ({"sram": "310 ms"}, "give it in bytes"),
        ({"accuracy": "3 J"}, "give it in per cent"),
        ({"sramm": "1 KiB"}, "did you mean sram?"),
        ({"step_time": "-2 %"}, r"write \+2 %"),
        ({"accuracy": "+2 %"}, "write -2 %"),
        ({"energy_per_step": ["2 mJ", "much"]}, "'much' is not a quantity"),
        (["sram"], "write a table"),
        ("256 KiB", "write a table"),
    ],
)
def test_mistakes_name_the_place_and_the_cure(table, words):
    with pytest.raises(RigError, match=words) as refused:
        parse_budgets(table, "in rig.toml")
    assert "in rig.toml" in str(refused.value)


def test_the_nearest_table_has_all_budgets_of_a_figure():
    near = parse_budgets({"sram": "1 KiB"}, "of the test")
    far = parse_budgets({"sram": ["2 KiB", "+1 %"], "step_time": "1 s"}, "in rig.toml")
    found = nearest(near, far)
    assert [gate.limit for gate in found["sram"]] == [1024] and found["step_time"] == far["step_time"]


SRAM, ACCURACY = FigureGate("sram", "in rig.toml", 1000), FigureGate("accuracy", "of the test", 0.65)
ENERGY = FigureGate("energy_per_step", "in rig.toml", 0.028)
WHY = {"modelled": "for silicon", "analytic": "for silicon", "declared": "a declared figure is judged by no budget"}


def of(value, unit, uncertainty=None, word="measured"):
    return Quantity(value, unit, word, uncertainty)


@pytest.mark.parametrize(("value", "verdict"), [(999, "pass"), (1000, "pass"), (1001, "fail")])
def test_a_count_is_within_or_beyond(value, verdict):
    found = judge(SRAM, of(value, "B", word="counted"))
    assert found.verdict == verdict
    assert (
        found.sentence.startswith(f"SRAM in use is {value:,} bytes")
        and "the budget in rig.toml is 1,000 bytes" in found.sentence
    )


@pytest.mark.parametrize(
    ("value", "verdict"),
    [(0.0270, "pass"), (0.0279, "inconclusive"), (0.0280, "inconclusive"), (0.0281, "inconclusive"), (0.0290, "fail")],
)
def test_a_measurement_speaks_only_outside_its_interval(value, verdict):
    assert judge(ENERGY, of(value, "J", 0.0002)).verdict == verdict


def test_accuracy_has_a_least_value():
    assert judge(ACCURACY, of(0.70, "1", 0.01, "counted")).verdict == "pass"
    assert judge(ACCURACY, of(0.60, "1", 0.01, "counted")).verdict == "fail"
    assert judge(ACCURACY, of(0.66, "1", 0.01, "counted")).verdict == "inconclusive"


@given(st.floats(0.9, 1.1), st.floats(0, 0.05), st.floats(0, 0.05))
def test_more_uncertainty_never_makes_a_verdict(value, uncertainty, extra):
    gate = FigureGate("step_time", "in rig.toml", 1.0)
    sure, unsure = judge(gate, of(value, "s", uncertainty)), judge(gate, of(value, "s", uncertainty + extra))
    assert unsure.verdict in (sure.verdict, "inconclusive")


@pytest.mark.parametrize("word", ["modelled", "analytic", "declared"])
@pytest.mark.parametrize("value", [0.001, 1.0])
@pytest.mark.parametrize("gate", [ENERGY, FigureGate("energy_per_step", "in rig.toml", relative=0.02)])
def test_what_is_no_measurement_never_passes_or_fails(word, value, gate):
    found = judge(gate, of(value, "J", 1e-6, word), median=of(0.5, "J", 1e-6, word))
    assert found.verdict == "not judged" and word in found.sentence and WHY[word] in found.sentence


def test_a_figure_that_a_trial_does_not_have():
    found = judge(ENERGY, None)
    assert found.verdict == "not judged" and "energy_per_step" in found.sentence


def test_a_relative_budget_is_on_the_median_of_the_last_good_nights():
    gate = FigureGate("step_time", "of the test", relative=0.02)
    median = of(0.100, "s", 0.0001)
    assert judge(gate, of(0.1010, "s"), median=median).verdict == "pass"
    assert judge(gate, of(0.1030, "s"), median=median).verdict == "fail"
    assert judge(gate, of(0.1021, "s"), median=median).verdict == "inconclusive", "the median is uncertain too"
    found = judge(gate, of(0.1030, "s"), median=median)
    assert found.limit == pytest.approx(0.102)
    assert "+2 % on the median of the last good nights, 102 ms" in found.sentence


RELATIVE = FigureGate("sram", "in rig.toml", relative=0.02)


@given(st.integers(0, 10**9), st.one_of(st.none(), st.integers(1, 9)))
def test_without_a_median_a_relative_budget_is_inconclusive_and_says_why(value, nights):
    found = judge(RELATIVE, of(value, "B", word="counted"), median=NoMedian("the history is locked", nights))
    assert (found.verdict, found.limit, found.more) == ("inconclusive", None, nights)
    assert found.more_of == ("good nights" if nights else "")
    assert "the last good nights, which is not known, because the history is locked" in found.sentence
    assert (f"; {nights} more good night" in found.sentence) == (nights is not None)
    alone = judge(RELATIVE, of(value, "B", word="counted"))
    assert alone.verdict == "inconclusive" and "because nothing here reads the history." in alone.sentence


def test_an_absolute_budget_needs_no_nights():
    assert judge(SRAM, of(1, "B", word="counted"), median=NoMedian("the history is locked")).verdict == "pass"


@pytest.mark.parametrize("word", ["modelled", "analytic", "declared"])
def test_without_a_median_what_is_no_measurement_is_still_not_judged(word):
    found = judge(
        FigureGate("step_time", "in rig.toml", relative=0.02), of(1.0, "s", word=word), median=NoMedian("x", 3)
    )
    assert found.verdict == "not judged" and WHY[word] in found.sentence


def test_a_relative_budget_of_accuracy_is_below_the_median():
    gate = FigureGate("accuracy", "of the test", relative=-0.1)
    median = of(0.8, "1", word="counted")
    assert judge(gate, of(0.73, "1", word="counted"), median=median).verdict == "pass"
    assert judge(gate, of(0.71, "1", word="counted"), median=median).verdict == "fail"


def test_an_inconclusive_gate_says_how_many_more_would_decide():
    asked = []

    def needed(half):
        asked.append(half)
        return 9

    found = judge(ENERGY, of(0.0279, "J", 0.0002), more=More("energy windows", needed))
    assert (found.more, found.more_of) == (
        9,
        "energy windows",
    ) and "9 more energy windows would decide" in found.sentence
    assert asked == [pytest.approx(0.0001)], "the interval must be within the distance to the budget"
    never = judge(ENERGY, of(0.0279, "J", 0.0002), more=More("energy windows", lambda half: None))
    assert never.more is None and "more energy windows would not decide" in never.sentence
    assert judge(ENERGY, of(0.0270, "J", 0.0002), more=More("energy windows", needed)).more is None, "it is decided"


def test_the_interval_has_the_given_coverage():
    value = of(0.0275, "J", 0.0002)
    assert (judge(ENERGY, value, coverage=2.4).verdict, judge(ENERGY, value, coverage=2.6).verdict) == (
        "pass",
        "inconclusive",
    )


def test_units_must_be_those_of_the_figure():
    with pytest.raises(RigError, match="defect"):
        judge(ENERGY, of(3, "s"))


def test_the_figures_are_in_the_record():
    from hil.record.trial_quantities import quantities
    from tests.unit.report.conftest import WHOLE, make_latency, make_trial

    found = quantities(make_trial(**WHOLE, latency=make_latency()))
    for name, figure in FIGURES.items():
        assert found[figure.path].unit == figure.unit, name
