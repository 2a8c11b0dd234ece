"""Figures that a test gives: unit, provenance that the rig can stand for, and budgets with bounds of their own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.errors import DeviceFault, RigError
from hil.gates import NO_HISTORY, budgets_of_figure
from hil.history.earlier import median_of_nights
from hil.quantity import Provenance, Quantity
from hil.session.device_figures import declared_properties, judged_figure, quantity_of


@pytest.mark.parametrize(("unit", "said", "reality", "kept"), [
    ("s", "measured", "hardware", "measured"), ("s", "counted", "hardware", "counted"),
    ("s", "counted", "virtual", "modelled"), ("ms", "measured", "qemu", "modelled"),
    ("cycle", "counted", "renode", "modelled"), ("mW", "counted", "virtual", "modelled"),
    ("B", "counted", "virtual", "counted"), ("1", "counted", "qemu", "counted"),
    ("B", "measured", "virtual", "modelled"),  # no instrument read it
    ("1", "counted", None, "declared"), ("s", "measured", None, "declared"),
    ("s", "modelled", "hardware", "modelled"), ("s", "analytic", None, "analytic"), ("1", None, "hardware", "declared"),
])  # fmt: skip
def test_the_provenance_is_one_that_the_reality_allows(unit, said, reality, kept):
    found = quantity_of("figure", 3, unit, said, None, reality)
    assert found.provenance.value == kept
    assert (found.note == "") == (kept == (said or "declared"))


def test_units_become_base_units_with_their_uncertainty():
    found = quantity_of("step_time", np.float32(12.5), "ms", "counted", 0.5, "hardware")
    assert (found.value, found.unit, found.uncertainty) == (0.0125, "s", 0.0005)
    assert quantity_of("ram", 3, "KiB", "counted", None, "hardware").value == 3072
    assert quantity_of("hits", 65, "%", "counted", None, "hardware").value == 0.65


@pytest.mark.parametrize("unit", [
    "1", "%", "B", "KiB", "kB", "byte", "bytes", "bit", "cycle", "cycles", "kcycles", "s", "ms", "us", "µs", "J", "uJ",
    "mW", "mA", "V", "MHz", "°C", "uAh", "J/step", "1/s", "cycle/s", "images/s", "V*A", "m/s^2", "batches", "ulp",
])  # fmt: skip
def test_units_that_exist_are_taken(unit):
    assert quantity_of("figure", 3, unit, "counted", None, "hardware").value > 0


def test_a_quantity_of_the_rig_is_taken_as_it_is():
    energy = Quantity(2e-3, "J", Provenance.MEASURED, 1e-5, "net")
    assert quantity_of("energy_per_step", energy, "1", None, None, "hardware") == energy
    with pytest.raises(RigError, match="is a quantity, which has unit, provenance and uncertainty"):
        quantity_of("energy_per_step", energy, "1", "counted", None, "hardware")


@pytest.mark.parametrize(("arguments", "error", "words"), [
    (("loss", float("nan"), "1", None, None), DeviceFault, "the figure loss is nan"),
    (("loss", np.inf, "1", None, None), DeviceFault, "the figure loss is inf"),
    (("loss", [1, 2], "1", None, None), RigError, "give one number"),
    (("loss", np.zeros(2), "1", None, None), RigError, "give one number"),
    (("loss", True, "1", None, None), RigError, "give one number"),
    (("", 1, "1", None, None), RigError, "give it one"),
    (("loss", 1, "", None, None), RigError, "such as s, B, J, cycle, or 1 for none"),
    (("size", 52, "bite", None, None), RigError, "has the unit 'bite', which is none"),
    (("size", 52, "J/stp", None, None), RigError, "say in its name what is counted"),
    (("size", 52, "kcyclez", None, None), RigError, "which is none"),
    (("size", 52, "s s", None, None), RigError, "which is none"),
    (("loss", 1, "1", "guessed", None), RigError, "use one of measured, counted"),
    (("loss", 1, "1", None, -1), RigError, "a standard uncertainty is at least 0"),
])  # fmt: skip
def test_what_is_no_figure_is_one_sentence(arguments, error, words):
    with pytest.raises(error, match=words) as seen:
        quantity_of(*arguments, "hardware")
    assert type(seen.value) is error


def no_history(gate):
    return NO_HISTORY


@pytest.mark.parametrize(("name", "unit", "text", "value", "verdict"), [
    ("parameters", "1", "at most 20", 12, "pass"), ("parameters", "1", "20", 21, "fail"),
    ("parameters", "1", "at least 20", 12, "fail"), ("accuracy", "1", "90 %", 0.91, "pass"),
    ("accuracy", "1", "90 %", 0.89, "fail"), ("accuracy", "1", "at most 90 %", 0.89, "pass"),
    ("train", "cycle", "900 cycle", 899, "pass"), ("train", "cycle", "900 cycle", 901, "fail"),
    ("step_time", "s", "75 ms", 0.0751, "fail"), ("step_time", "s", "75 ms", 0.0749, "pass"),
    ("latency", "s", "+2 %", 0.07, "inconclusive"),
])  # fmt: skip
def test_a_budget_is_the_most_or_what_its_words_say(name, unit, text, value, verdict):
    quantity = Quantity(value, unit, Provenance.COUNTED)
    (judgement,) = judged_figure(
        name, quantity, budgets_of_figure(name, unit, text, "in the test"), no_history
    ).judgements
    assert judgement.verdict == verdict, judgement.sentence


def test_the_interval_guards_the_budget_and_models_are_not_judged():
    gates = budgets_of_figure("step_time", "s", ["75 ms", "at least 1 ms"], "in the test")
    near = Quantity(0.0749, "s", Provenance.MEASURED, 0.001)
    assert [each.verdict for each in judged_figure("step_time", near, gates, no_history).judgements] == [
        "inconclusive",
        "pass",
    ]
    model = Quantity(0.01, "s", Provenance.MODELLED)
    assert {each.verdict for each in judged_figure("step_time", model, gates, no_history).judgements} == {"not judged"}
    own = Quantity(0.01, "s", Provenance.DECLARED)  # by a budget of rig.toml; others are refused
    said = judged_figure("step_time", own, gates[:1], no_history).judgements[0].sentence
    assert said.endswith("and a declared figure is judged by no budget.")
    said = judged_figure(
        "parameters",
        Quantity(12, "1", Provenance.COUNTED),
        budgets_of_figure("parameters", "1", "at least 13", "here"),
        no_history,
    )
    assert said.judgements[0].sentence == "parameters is 12, but the budget here is at least 13."


@pytest.mark.parametrize(("tonight", "verdict"), [(99, "pass"), (106, "fail")])
def test_a_relative_budget_is_judged_by_the_median_of_the_last_good_nights(tonight, verdict):
    (gate,) = budgets_of_figure("code", "B", "+5 %", "in the test")
    nights = [Quantity(float(value), "B", Provenance.COUNTED) for value in (100, 100, 100, 100, 100)]
    median = lambda gate: median_of_nights(gate, quantity, lambda: nights)  # noqa: E731
    quantity = Quantity(tonight, "B", Provenance.COUNTED)
    (judgement,) = judged_figure("code", quantity, [gate], median).judgements
    assert (judgement.verdict, judgement.limit) == (verdict, 105)
    (judgement,) = judged_figure(
        "code", quantity, [gate], lambda gate: median_of_nights(gate, quantity, lambda: nights[:2])
    ).judgements
    assert judgement.verdict == "inconclusive" and "2 good nights are in the history so far" in judgement.sentence


@pytest.mark.parametrize(("text", "value", "verdict"), [
    ("at least -5", -4, "pass"), ("at least -5", -6, "fail"), ("AT MOST 16", 17, "fail"), ("At Least 16", 17, "pass"),
])  # fmt: skip
def test_a_budget_may_be_negative_and_its_words_may_have_capitals(text, value, verdict):
    figure = judged_figure(
        "offset", Quantity(value, "1", Provenance.COUNTED), budgets_of_figure("offset", "1", text, "here"), no_history
    )
    assert [each.verdict for each in figure.judgements] == [verdict]


@pytest.mark.parametrize(("unit", "text", "words"), [
    ("s", "3 KiB", "give it in seconds"), ("cycle", "3 ms", "give it in cycle"), ("cycle", "3 steps", "12 cycle"),
    ("s", 75, "is 75: give it in seconds, such as 310 ms, in quotes"), ("s", "soon", "'soon': give it in seconds"),
    ("s", "75", "'75': give it in seconds"), ("1", "20 ms", "give it as a number, such as 20"),
    ("s", "-2 %", "limits how much more it may be"), ("1", "<= 6", "write 'at most' or 'at least' before it"),
    ("1", "\u0666", "give it as a number"), ("1", "\u0666 %", "give it in per cent"), ("s", "\u0666 s", "give it in"),
])  # fmt: skip
def test_a_budget_of_another_unit_is_refused(unit, text, words):
    with pytest.raises(RigError, match=words):
        budgets_of_figure("mine", unit, text, "in the test")


@pytest.mark.parametrize(("name", "unit", "text"), [
    ("accuracy", "1", "0 %"), ("accuracy", "1", "at least 0"), ("accuracy", "1", "at most 1"),
    ("accuracy", "1", "at most 100 %"), ("accuracy", "1", "-100 %"), ("test_accuracy", "1", "at least 0 %"),
    ("hits", "1", "at most 100 %"), ("hits", "1", "100 %"), ("hits", "1", "at most 250 %"), ("size", "B", "at least 0 KiB"),
    ("time", "s", "at least 0 ms"), ("time", "h", "at least 0 h"), ("train", "kcycles", "at least 0 kcycles"),
    ("rate", "images/s", "at least 0.0 images/s"), ("step_time", "s", "at least 0 s"),
    ("energy_per_step", "J", "at least 0 J"),
])  # fmt: skip
def test_a_budget_that_no_value_misses_is_refused(name, unit, text):
    with pytest.raises(RigError, match=f"the budget in the test of {name} is .*, which no value misses: give "):
        budgets_of_figure(name, unit, text, "in the test")


@pytest.mark.parametrize(("name", "unit", "text"), [
    ("gain", "1", "at least 0"), ("offset", "V", "at least 0 V"), ("temperature", "°C", "at least 0 °C"),
    ("accuracy", "1", "100 %"), ("accuracy", "1", "at most 99 %"), ("errors", "1", "at most 0 %"),
    ("slowdown", "1", "at most 1.5"), ("size", "B", "at most 0 B"), ("hits", "1", "+200 %"),
])  # fmt: skip
def test_a_budget_that_a_value_may_miss_is_taken(name, unit, text):
    assert len(budgets_of_figure(name, unit, text, "in the test")) == 1


def test_numbers_of_record_property_are_declared_each_once():
    given = [("loss", 0.5), ("loss", 0.6), ("name", "x"), ("flag", True), ("none", float("nan")), ("mine", 3)]
    found = declared_properties(given, ["mine"])
    assert [(each.name, each.quantity.value, each.quantity.provenance.value) for each in found] == [
        ("loss", 0.5, "declared")
    ]


@pytest.mark.parametrize(("unit", "text", "limit"), [
    ("kcycle", "900 cycle", 0.9), ("cycle", "6 Mcycle", 6e6), ("cycle", "3 cycles", 3.0), ("kcycles", "2 Mcycle", 2000.0),
    ("Msample", "at most 1e3 ksamples", 1.0),
])  # fmt: skip
def test_counts_with_other_prefixes_are_the_same_counts(unit: str, text: str, limit: float) -> None:
    (gate,) = budgets_of_figure("mine", unit, text, "in the test")
    assert gate.limit == pytest.approx(limit) and gate.figure.unit == unit


@pytest.mark.parametrize("text", ["90", "at least 90", "101 %"])
def test_an_accuracy_that_no_value_reaches_is_refused(text: str) -> None:
    with pytest.raises(RigError, match="which no value reaches: give a share of 1, such as 0.9, or per cent"):
        budgets_of_figure("accuracy", "1", text, "in the test")


def test_the_greek_letter_is_the_micro_sign() -> None:
    greek, sign = (quantity_of("e", 2501, f"{mu}J", "counted", None, "hardware") for mu in "\u03bc\u00b5")
    assert greek == sign and greek.unit == "J"


@pytest.mark.parametrize("name", [
    "test_accuracy", "Accuracy", "accuracy_drop", "top1accuracy", "acc", "val_acc", "acc1", "top1", "top-5", "recall",
    "F1", "auc", "mean_iou",
])  # fmt: skip
def test_a_name_with_accuracy_in_it_has_no_direction_of_its_own(name: str) -> None:
    with pytest.raises(RigError, match="may be the least or the most of it: write 'at least 90 %' or 'at most 90 %'"):
        budgets_of_figure(name, "1", "90 %", "in the test")
    for text, upper in (("at least 90 %", False), ("at most 90 %", True), ("-2 %", False), ("+2 %", True)):
        (gate,) = budgets_of_figure(name, "1", text, "in the test")
        assert gate.figure.upper == upper


@pytest.mark.parametrize(("name", "unit"), [
    ("sensitivity", "1"), ("r2", "1"), ("hit_rate", "1"), ("specificity", "1"), ("mAP", "1"), ("dice", "1"), ("score", "1"),
    ("hits", "1"), ("stop1", "1"), ("throughput", "images/s"), ("work", "FLOP/s"), ("rate", "1/s"), ("clock", "Hz"),
    ("margin", "V"), ("temperature", "°C"), ("images", "image"), ("accesses", "1"), ("closs", "1"),
])  # fmt: skip
def test_a_budget_without_direction_is_refused_where_neither_unit_nor_name_has_one(name: str, unit: str) -> None:
    text = "9 %" if unit == "1" else f"9 {unit}"
    with pytest.raises(RigError, match=f"may be the least or the most of it: write 'at least {text}' or 'at most"):
        budgets_of_figure(name, unit, text, "in the test")
    for words, upper in ((f"at least {text}", False), (f"at most {text}", True), ("+2 %", True), ("-2 %", False)):
        (gate,) = budgets_of_figure(name, unit, words, "in the test")
        assert gate.figure.upper == upper


@pytest.mark.parametrize(("name", "unit"), [
    ("loss", "1"), ("val_loss", "1"), ("errors", "1"), ("word_err", "1"), ("parameters", "1"), ("f16_bytes", "1"),
    ("mine", "B"), ("mine", "s"), ("mine", "J"), ("mine", "W"), ("mine", "mA"), ("mine", "kcycles"), ("mine", "J/step"),
    ("mine", "cycle/image"), ("mine", "MAC/step"), ("mine", "ulp"),
])  # fmt: skip
def test_a_budget_of_a_cost_is_at_most(name: str, unit: str) -> None:
    (gate,) = budgets_of_figure(name, unit, "9" if unit == "1" else f"9 {unit}", "in the test")
    assert gate.figure.upper and gate.limit == 9


SYMBOLS = [
    "1", "%", "s", "ms", "µs", "min", "h", "d", "J", "mJ", "W", "mA", "V", "MHz", "Hz", "°C", "K", "g", "m", "Pa", "Ohm", "uAh",
    "bit", "B", "KiB", "MB", "GB", "dB", "dBm", "rad", "deg", "ppm", "baud", "px", "LSB", "ulp", "cycle", "kcycles", "images",
    "batches", "MFLOP", "step", "event", "count", "N", "T",
]  # fmt: skip
UNIT = st.builds(lambda one, power: one + power, st.sampled_from(SYMBOLS), st.sampled_from(["", "", "^2", "^-1"]))
PRODUCTS = st.builds(
    lambda first, more: first + "".join(sign + unit for sign, unit in more),
    UNIT,
    st.lists(st.tuples(st.sampled_from("*/·"), UNIT), max_size=2),
)


@given(PRODUCTS, st.sampled_from(["30", "2.5", ".5", "3.", "1e3"]))
def test_every_unit_of_a_figure_can_be_written_in_its_budget(unit: str, number: str) -> None:
    figure = quantity_of("thing", float(number), unit, "counted", None, "hardware")
    for written in {unit, figure.unit}:
        value = float(number) if written == figure.unit else figure.value
        (gate,) = budgets_of_figure("thing", figure.unit, f"at least {number} {written}", "in the test")
        assert gate.limit == pytest.approx(value) and not gate.figure.upper


@pytest.mark.parametrize("text", ["at least .9", "at least 0.9", "at least 90 %", "at least 90. %", "at least .9e0"])
def test_a_number_may_begin_or_end_with_its_point(text: str) -> None:
    for name in ("score", "accuracy"):
        (gate,) = budgets_of_figure(name, "1", text, "in the test")
        assert gate.limit == pytest.approx(0.9)
    (change,) = budgets_of_figure("score", "1", "-.5 %", "in the test")
    assert change.relative == pytest.approx(-0.005)


@pytest.mark.parametrize(("name", "unit"), [
    ("sram", "B"), ("flash", "KiB"), ("stack", "bytes"), ("energy", "mJ"), ("work", "J/step"), ("step_time", "ms"),
    ("cycles", "kcycles"), ("rate", "images/s"), ("events", "event"), ("clock", "MHz"), ("sram", "1"), ("hits", "count"),
    ("stack_bytes", "1"), ("parameters", "1"), ("Flash", "1"), ("test_accuracy", "%"), ("val_accuracy", "1"),
])  # fmt: skip
def test_what_cannot_be_negative_fails_whatever_its_budget(name: str, unit: str) -> None:
    with pytest.raises(DeviceFault, match=f"the figure {name} is -.* cannot be below 0"):
        quantity_of(name, -32512, unit, "counted", None, "hardware")
    assert quantity_of(name, 0, unit, "counted", None, "hardware").value == 0


@pytest.mark.parametrize(("name", "unit"), [
    ("temperature", "°C"), ("offset", "V"), ("loss", "1"), ("r2", "1"), ("latency_change", "ms"), ("level", "dB"),
    ("clock_error", "Hz"), ("stack_left", "1"), ("accuracy_drop", "1"), ("accuracy_loss", "1"), ("bytes_saved", "B"), ("current", "mA"),
])  # fmt: skip
def test_what_may_be_negative_is_taken(name: str, unit: str) -> None:
    assert quantity_of(name, -3, unit, "counted", None, "hardware").value < 0
    assert len(budgets_of_figure(name, unit, "at least 0" if unit == "1" else f"at least 0 {unit}", "here")) == 1


@pytest.mark.parametrize(("value", "unit"), [(101, "%"), (100.5, "1"), (1e9, "1")])
def test_no_accuracy_is_above_100_per_cent(value: float, unit: str) -> None:
    with pytest.raises(RigError, match="above all accuracies: give a share of 1, or the unit %"):
        quantity_of("test_accuracy", value, unit, "counted", None, "hardware")
    assert quantity_of("test_accuracy", 100, unit, "counted", None, "hardware").value in (1, 100)


def test_a_measured_figure_near_0_may_be_below_it() -> None:
    assert quantity_of("energy", -0.01, "J", "measured", 0.01, "hardware").value == -0.01
    with pytest.raises(DeviceFault, match="cannot be below 0"):
        quantity_of("energy", -0.05, "J", "measured", 0.01, "hardware")


def test_a_budget_says_its_direction() -> None:
    low = Quantity(0.1, "1", Provenance.COUNTED)
    for text in ("at most 90 %", "at least 5 %"):
        said = judged_figure("share", low, budgets_of_figure("share", "1", text, "in the test"), no_history)
        assert said.judgements[0].sentence == f"share is 10 %, and the budget in the test is {text}."
