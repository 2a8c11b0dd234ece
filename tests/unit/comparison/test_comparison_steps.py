"""A comparison step by step: what passes, the first difference and its sentence, tolerances by tensor, the summary."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest

from hil.comparison import Comparison, Difference, FormDifference, ValueDifference, atol, compare, exact, rtol, ulp
from hil.errors import DeviceFault, RigError


class Line:
    """A reference with state: weights that grow, and a loss that falls."""

    def __init__(self) -> None:
        self.weights = np.arange(12, dtype=np.float32).reshape(3, 4)

    def step(self, index: int) -> dict[str, Any]:
        self.weights += np.float32(0.5)
        return {"fc1": self.weights, "loss": 1.0 / (index + 1)}


def device(index: int) -> dict[str, Any]:
    return {
        "fc1": np.arange(12, dtype=np.float32).reshape(3, 4) + np.float32(0.5 * (index + 1)),
        "loss": 1.0 / (index + 1),
    }


def run_to_end(run: Comparison, change: Any = None, steps: int = 5) -> Comparison:
    for index in range(steps):
        tensors = device(index)
        if change is not None:
            change(index, tensors)
        run.step(index, tensors)
    return run


@pytest.mark.parametrize(
    "tolerance", [{"exact": True}, {"ulp": 2}, {"rtol": 1e-6}, {"atol": 0}, {"max_abs": 0.1}, {"mean_abs": 0.1}]
)
def test_the_same_values_pass_and_the_summary_says_what_was_compared(tolerance: dict[str, Any]) -> None:
    summary = run_to_end(compare(Line(), **tolerance)).check()
    assert (summary.verdict, summary.steps, summary.elements, summary.differing) == ("pass", 5, 65, 0)
    assert [(one.tensor, one.dtype, one.shape, one.steps) for one in summary.tensors] == [
        ("fc1", "float32", (3, 4), 5),
        ("loss", "float64", (), 5),
    ]
    assert summary.sentence.startswith("5 steps, 2 tensors, 65 elements compared: bit for bit equal")
    assert (
        summary.reference.endswith("Line") and summary.reference_kind == "computed" and summary.first_difference is None
    )


def test_the_first_difference_is_named_by_step_tensor_index_and_both_values() -> None:
    def change(index: int, tensors: dict[str, Any]) -> None:
        if index == 3:
            tensors["fc1"][1, 2] = np.nextafter(tensors["fc1"][1, 2], np.float32(100))
            tensors["fc1"][2, 0] += 1

    run = compare(Line(), exact=True)
    with pytest.raises(Difference) as raised:
        run_to_end(run, change)
    assert str(raised.value) == (
        "step 3, tensor fc1: the device has 8.000001 (0x41000001) at index (1, 2), the reference 8.0 (0x41000000); "
        "2 of 12 elements differ, by 1 at most (1,048,576 ulp)."
    )
    first = raised.value.first
    assert isinstance(first, ValueDifference) and isinstance(raised.value, DeviceFault)
    assert (first.step, first.tensor, first.index, first.outside, first.elements) == (3, "fc1", (1, 2), 2, 12)
    assert run.summary().verdict == "fail" and run.summary().sentence == first.sentence
    with pytest.raises(Difference, match="step 3, tensor fc1"):
        run.check()
    copy = pickle.loads(pickle.dumps(raised.value))
    assert (str(copy), copy.first) == (str(raised.value), first)
    with pytest.raises(RigError, match=r"step 4 came after the comparison had ended \(step 3, tensor fc1"):
        run.step(4, device(4))
    assert run.summary().verdict == "fail"


@pytest.mark.parametrize(
    ("bad", "shown"), [(np.nan, "nan (0x7fc00000)"), (np.inf, "inf (0x7f800000)"), (-np.inf, "-inf (0xff800000)")]
)
@pytest.mark.parametrize(
    "tolerance", [{"exact": True}, {"ulp": 9}, {"rtol": 0.5, "atol": 1e9}, {"max_abs": 1e9}, {"mean_abs": 1e9}]
)
def test_nan_and_infinity_of_the_device_are_said(bad: float, shown: str, tolerance: dict[str, Any]) -> None:
    def change(index: int, tensors: dict[str, Any]) -> None:
        tensors["fc1"][2, 3] = bad

    with pytest.raises(Difference) as raised:
        run_to_end(compare(Line(), **tolerance), change)
    assert str(raised.value) == (
        f"step 0, tensor fc1: the device has {shown} at index (2, 3), the reference 11.5 (0x41380000); "
        "1 of 12 elements have no finite error."
    )


def test_the_sentence_of_a_mean_and_of_a_number_and_of_integers_and_of_signs() -> None:
    class Fixed:
        def __init__(self, value: Any) -> None:
            self.value = value

        def step(self, index: int) -> dict[str, Any]:
            return {"t": self.value}

    def said(ours: Any, theirs: Any, **tolerance: Any) -> str:
        with pytest.raises(Difference) as raised:
            compare(Fixed(theirs), name="adam", **tolerance).step(0, {"t": ours})
        return str(raised.value).removeprefix("comparison adam: step 0, tensor t: ")

    assert said(np.array([1.0, 5.0]), np.array([1.0, 2.0]), mean_abs=1.0) == (
        "the mean error is 1.5, above mean_abs=1; the largest is 3 at index (1,), "
        "where the device has 5.0 (0x4014000000000000), the reference 2.0 (0x4000000000000000)."
    )
    assert said(0.5, 0.25, rtol=1e-3) == (
        "the device has 0.5 (0x3fe0000000000000), the reference 0.25 (0x3fd0000000000000); "
        "1 of 1 elements are outside rtol=0.001, by 0.25 at most (4,503,599,627,370,496 ulp)."
    )
    assert said(np.array([1, -7], np.int8), np.array([1, 7], np.int8), ulp=3) == (
        "the device has -7 at index (1,), the reference 7; 1 of 2 elements are outside ulp=3, by 14 at most."
    )
    assert said(np.float32([-0.0]), np.float32([0.0]), exact=True) == (
        "the device has -0.0 (0x80000000) at index (0,), the reference 0.0 (0x00000000); "
        "1 of 1 elements differ, only in the signs of zeros."
    )
    compare(Fixed(np.float32([0.0])), ulp=0).step(0, {"t": np.float32([-0.0])})


@pytest.mark.parametrize("tolerance", [{"mean_abs": 0.25}, {"max_abs": 0.5}, {"atol": 0.5}, {"rtol": 0.25}])
def test_an_error_that_is_exactly_the_limit_passes(tolerance: dict[str, float]) -> None:
    class Twos:
        def step(self, index: int) -> dict[str, Any]:
            return {"t": np.array([2.0, 2.0])}

    run = compare(Twos(), **tolerance)
    run.step(0, {"t": np.array([2.5, 2.0])})
    with pytest.raises(Difference):
        run.step(1, {"t": np.array([np.nextafter(2.5, 3), 2.0])})


def test_bool_is_exact_under_every_tolerance() -> None:
    class Flags:
        def step(self, index: int) -> dict[str, Any]:
            return {"flags": np.array([True, False])}

    for tolerance in ({"ulp": 1}, {"rtol": 0.5, "atol": 2.0}, {"mean_abs": 5.0}):
        run = compare(Flags(), **tolerance)
        with pytest.raises(Difference, match=r"the device has True at index \(1,\), the reference False"):
            run.step(0, {"flags": np.array([True, True])})
        assert run.summary().tensors[0].tolerance == "exact"


def test_keep_going_records_the_whole_drift_and_check_raises_the_first_difference() -> None:
    def change(index: int, tensors: dict[str, Any]) -> None:
        tensors["fc1"] += np.float32(index)

    run = run_to_end(compare(Line(), max_abs=1.5, keep_going=True), change)
    columns = run.drift.of("fc1")
    assert columns["max_abs"].tolist() == [0, 1, 2, 3, 4] and columns["within"].tolist() == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert run.steps == 5 and run.summary().verdict == "fail"
    with pytest.raises(Difference, match="step 2, tensor fc1"):
        run.check()


def test_tolerances_by_tensor_name_then_first_pattern_then_default() -> None:
    def change(index: int, tensors: dict[str, Any]) -> None:
        tensors["loss"] *= 1.0005

    by_tensor = {"l*": exact(), "loss": rtol(1e-3), "*": ulp(0)}
    summary = run_to_end(compare(Line(), by_tensor=by_tensor, keep_going=True), change).summary()
    assert {one.tensor: one.tolerance for one in summary.tensors} == {"fc1": "ulp=0", "loss": "rtol=0.001"}
    assert summary.tensors[1].tolerance_fields == {"kind": "close", "rtol": 1e-3, "atol": 0.0}
    assert (
        summary.verdict == "refused"
        and summary.sentence == "by_tensor has l*, which is the tolerance of no tensor: known are: fc1, loss."
    )
    passed = run_to_end(compare(Line(), exact=True, by_tensor={"lo??": rtol(1e-3)}), change).check()
    assert passed.tolerance == "exact; lo??: rtol=0.001"
    assert "; 5 elements differ, the largest error is 0.0005 (tensor loss, step 0)." in passed.sentence


def test_a_brace_in_a_name_is_the_name() -> None:
    class Listed:
        def step(self, index: int) -> dict[str, Any]:
            return {"layers[0].w": np.float32([1])}

    run = compare(Listed(), by_tensor={"layers[0].w": atol(1)})
    run.step(0, {"layers[0].w": np.float32([1.5])})
    assert run.check().verdict == "pass"


def test_some_tensors_at_some_steps() -> None:
    run = compare(Line(), exact=True)
    for index in range(4):
        tensors = device(index)
        if index % 2:
            del tensors["fc1"]
        run.step(index, tensors, partial=bool(index % 2))
    assert {one.tensor: one.steps for one in run.check().tensors} == {"fc1": 2, "loss": 4}
    with pytest.raises(RigError, match="step 4: the test gave no tensor fc1, which the reference has") as raised:
        run.step(4, {"loss": 0.2})  # it was not there at every step, so that it is not the device that lost it
    assert not isinstance(raised.value, DeviceFault)


def test_a_tensor_that_is_compared_at_no_step_does_not_pass() -> None:
    run = compare(Line(), exact=True, name="mine")
    for index in range(4):
        run.step(index, {"loss": device(index)["loss"]}, partial=True)
    with pytest.raises(RigError, match="^comparison mine: never compared: fc1: compare each") as raised:
        run.check()
    assert not isinstance(raised.value, DeviceFault) and run.summary().verdict == "refused"
    run.step(4, device(4))
    assert run.check().verdict == "pass"


def test_a_tensor_of_the_device_that_changes_or_goes_is_its_fault() -> None:
    def shorter(index: int, tensors: dict[str, Any]) -> None:
        if index == 2:
            tensors["fc1"] = tensors["fc1"][:2]

    run = compare(Line(), exact=True)
    with pytest.raises(
        Difference, match=r"step 2, tensor fc1: the device gives float32 \(2, 4\), but gave float32 \(3, 4\) before"
    ):
        run_to_end(run, shorter)
    first = run.summary().first_difference
    assert isinstance(first, FormDifference) and (first.step, first.device, first.reference) == (
        2,
        "float32 (2, 4)",
        "float32 (3, 4)",
    )
    with pytest.raises(
        Difference, match="step 1: tensor loss is missing on the device, which had it at every step before"
    ):
        run_to_end(compare(Line(), exact=True), lambda index, tensors: tensors.pop("loss") if index == 1 else None)


def test_the_summary_is_json_also_with_nan_and_infinities() -> None:
    def change(index: int, tensors: dict[str, Any]) -> None:
        tensors["fc1"][0, 0] = np.nan if index == 1 else tensors["fc1"][0, 0]

    for summary in (
        run_to_end(compare(Line(), rtol=1e-5, keep_going=True), change).summary(),
        run_to_end(compare(Line(), exact=True)).summary(),
        compare(Line(), exact=True).summary(),
    ):
        again = json.loads(json.dumps(summary.to_json(), allow_nan=False))
        assert again["sentence"] == summary.sentence and again["verdict"] == summary.verdict
        assert len(again["tensors"]) == len(summary.tensors)


def test_python_numbers_take_the_dtype_of_the_other_side() -> None:
    class Losses:
        def __init__(self, *losses: Any) -> None:
            self.losses = losses

        def step(self, index: int) -> dict[str, Any]:
            return {"loss": self.losses[index]}

    def dtype_of(ours: list[Any], theirs: list[Any], **tolerance: Any) -> str:
        run = compare(Losses(*theirs), **tolerance)
        for index, loss in enumerate(ours):
            run.step(index, {"loss": loss})
        return run.check().tensors[0].dtype

    third = np.float32(1) / np.float32(3)
    assert dtype_of([0.333333343], [third], exact=True) == "float32"  # as printed by "%.9g"
    assert dtype_of([third], [float(third)], exact=True) == "float32"
    assert dtype_of([1 / 3], [1 / 3], exact=True) == "float64"
    assert dtype_of([3], [3], exact=True) == "int64"
    assert dtype_of([3], [np.uint8(3)], exact=True) == "uint8"
    assert dtype_of([1, 0.5], [1, 0.5], exact=True) == "float64"
    assert dtype_of([[0.5, 2]], [np.float16([0.5, 2])], exact=True) == "float16"
    with pytest.raises(Difference, match=r"the device has 1e\+300 \(0x7e37e43c8800759c\), the reference 0\.3333"):
        dtype_of([1e300], [third], rtol=0.1)
    with pytest.raises(RigError, match=r"the test gives float64 \(\), the reference int32 \(\)"):
        dtype_of([3.0], [np.int32(3)], rtol=0.1)
    with pytest.raises(Difference):
        dtype_of([2**60 + 1], [2**60], exact=True)
    with pytest.raises(Difference):
        dtype_of([2**64 - 1], [2**64 - 2], exact=True)
