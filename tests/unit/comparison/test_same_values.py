"""Values of the two sides that only seem to agree: the same object, an overflow, a bool that is none."""

from __future__ import annotations

import array
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.comparison import Difference, compare
from hil.errors import DeviceFault, RigError

TOLERANCES: list[dict[str, Any]] = [
    {"exact": True}, {"rtol": 1e-3}, {"atol": 1e30}, {"ulp": 4}, {"max_abs": 1e30}, {"mean_abs": 1e30},
]  # fmt: skip


class Gives:
    """A reference that gives one value, as it is."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def step(self, index: int) -> Any:
        return {"t": self.value}


def step(ours: Any, theirs: Any, **tolerance: Any) -> Any:
    run = compare(Gives(theirs), **(tolerance or {"exact": True}))
    run.step(0, {"t": ours})
    return run.check()


OVERFLOWS = [
    (np.float16(np.inf), 70000.0), (np.float16(np.inf), 1e6), (np.float16(-np.inf), -65520), (np.float32(np.inf), 1e39),
    (np.float32(np.inf), 10**19 * 1.0e25), (np.float16([1, np.inf]), [1.0, 70000.0]), (np.float16([np.inf]), [70000]),
]  # fmt: skip


@pytest.mark.parametrize("tolerance", TOLERANCES)
@pytest.mark.parametrize(("device", "reference"), OVERFLOWS)
def test_an_infinity_is_no_finite_number(device: Any, reference: Any, tolerance: dict[str, Any]) -> None:
    with pytest.raises(Difference, match=r"the device has -?inf .*, the reference -?[1-9].* no finite error") as seen:
        step(device, reference, **tolerance)
    assert f"{np.ravel(reference)[-1] * 1.0!s} (0x" in str(seen.value), "the reference has its own value"
    with pytest.raises(Difference, match=r"the reference -?inf"):  # a device that prints more than its dtype can hold
        step(reference, device, **tolerance)


@pytest.mark.parametrize("tolerance", TOLERANCES)
def test_the_same_infinity_is_equal_and_what_fits_is_rounded(tolerance: dict[str, Any]) -> None:
    assert step(np.float16(np.inf), float("inf"), **tolerance).verdict == "pass"
    assert step(np.float16([65504, 1 / 3]), [65519.0, 1 / 3], **tolerance).verdict == "pass"


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([np.float16, np.float32]))
def test_no_finite_number_equals_an_infinity(value: float, dtype: Any) -> None:
    for infinite in (dtype(np.inf), dtype(-np.inf)):
        with pytest.raises(Difference):
            step(infinite, value)


def test_a_device_that_ends_at_its_largest_number_is_compared_with_the_true_one() -> None:
    assert step(np.float16(65504), 65530.0, rtol=1e-3).verdict == "pass"
    with pytest.raises(Difference, match=r"the device has 65504\.0 .*, the reference 70000\.0 "):
        step(np.float16(65504), 70000.0, rtol=1e-3)


def test_a_step_after_an_overflow_keeps_the_dtype() -> None:
    class Losses:
        def step(self, index: int) -> Any:
            return {"t": [60000.0, 70000.0, 3.0][index]}

    kept = []
    run = compare(Losses(), exact=True, keep_going=True, seen=lambda index, tensors: kept.append(tensors["t"].dtype))
    for index, value in enumerate((60000, np.inf, 3)):
        run.step(index, {"t": np.float16(value)})
    with pytest.raises(Difference, match="step 1, tensor t: the device has inf"):
        run.check()
    assert run.summary().tensors[0].dtype == "float16" and set(kept) == {np.dtype(np.float16)}


INNER = np.ones(3, np.float32)
ITEM = np.float32(0.5)
ROW = [1.5, 2.5]


@pytest.mark.parametrize("make", [
    lambda: [1.0, 2.0], lambda: (1.0, 2.0), lambda: [[1, 2], [3, 4]], lambda: bytearray(b"abc"),
    lambda: memoryview(b"abc"), lambda: array.array("f", [1, 2]), lambda: np.ones(3), lambda: np.float32(2),
])  # fmt: skip
def test_what_is_given_for_both_sides_is_no_comparison(make: Callable[[], Any]) -> None:
    same = make()
    with pytest.raises(RigError, match="device and reference are the same object or memory") as seen:
        step(same, same)
    assert not isinstance(seen.value, DeviceFault)
    if not isinstance(same, memoryview | tuple):  # two of these may share a constant
        assert step(make(), make()).verdict == "pass"


@pytest.mark.parametrize(("ours", "theirs"), [
    ([ROW, [3, 4]], [ROW, [3, 4]]), ([[3, 4], ROW], ([3, 4], ROW)), ([INNER], [INNER]), ([INNER[:2]], [INNER[1:]]),
    ([ITEM, 1.0], [ITEM, 1.0]), ([[[ROW]]], [[[ROW]]]), (INNER.reshape(1, 3), [INNER]),
])  # fmt: skip
def test_a_part_of_both_sides_is_no_comparison(ours: Any, theirs: Any) -> None:
    with pytest.raises(RigError, match="device and reference are the same object or memory"):
        step(ours, theirs, atol=9)


def test_equal_numbers_are_no_common_part() -> None:
    one = 0.3
    for make in (lambda: one, lambda: 5, lambda: True, lambda: np.bool_(True), lambda: [one, 5], lambda: [[one]]):
        assert step(make(), make()).verdict == "pass"


def test_the_dictionary_of_the_test_is_no_reference() -> None:
    class Echo:
        def step(self, index: int) -> Any:
            return given

    given = {"loss": 0.25}
    with pytest.raises(RigError, match="the reference gave the dictionary of the test itself"):
        compare(Echo(), exact=True).step(0, given)


@pytest.mark.parametrize("shape", [(), (4,), (2, 2)])
@pytest.mark.parametrize("byte", [2, 0x55, 255])
def test_a_byte_that_is_neither_0_nor_1_is_no_bool(shape: tuple[int, ...], byte: int) -> None:
    data = np.ones(shape, np.uint8)
    data.reshape(-1)[-1] = byte
    wrong, good = data.view(np.bool_), np.ones(shape, np.bool_)
    with pytest.raises(DeviceFault, match=f"tensor t: the device has the byte 0x{byte:02x}.*, where a bool is 0 or 1"):
        step(wrong, good)
    with pytest.raises(RigError, match=f"the reference has the byte 0x{byte:02x}") as seen:
        step(good, wrong)
    assert not isinstance(seen.value, DeviceFault)
    assert step(good, good.copy()).verdict == "pass"


class Failed(BaseException):
    """As pytest.fail raises it."""


class Skipped(BaseException):
    """As pytest.skip raises it."""


@pytest.mark.parametrize("error", [SystemExit("no weights"), SystemExit(0), Failed("no file"), ValueError("no")])
def test_a_reference_that_ends_is_refused(error: BaseException) -> None:
    class Ends:
        def step(self, index: int) -> Any:
            raise error

    run = compare(Ends(), exact=True)
    with pytest.raises(RigError, match=rf"step 0: the reference failed \({type(error).__name__}: .*correct the ref"):
        run.step(0, {"t": 1.0})
    assert run.summary().verdict == "refused"


@pytest.mark.parametrize("error", [Skipped("no torch"), KeyboardInterrupt()])
def test_what_leaves_a_test_out_or_interrupts_it_stays_what_it_is(error: BaseException) -> None:
    class Ends:
        def step(self, index: int) -> Any:
            raise error

    with pytest.raises(type(error)) as seen:
        compare(Ends(), exact=True).step(0, {"t": 1.0})
    assert seen.value is error


def test_pytest_names_its_failure_as_the_comparison_knows_it() -> None:
    assert (pytest.fail.Exception.__name__, pytest.skip.Exception.__name__) == ("Failed", "Skipped")
