"""Wrong requests and wrong references: one sentence each, never a pass, and never the fault of the device."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hil.comparison import Difference, Reference, compare, max_abs, mean_abs, rtol, ulp
from hil.comparison.result import FormDifference
from hil.dut.expectations import CommandEnded
from hil.errors import Blocked, DeviceFault, RigError

ONES = np.ones((2, 3), np.float32)


class Gives:
    """A reference that returns, or raises, one thing after the other."""

    def __init__(self, *things: Any) -> None:
        self.things = things

    def step(self, index: int) -> Any:
        thing = self.things[min(index, len(self.things) - 1)]
        if isinstance(thing, BaseException):
            raise thing
        return thing


class Unreadable(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise OSError("no such file")

    def __iter__(self) -> Any:
        return iter(["fc1"])

    def __len__(self) -> int:
        return 1


class NoArray:
    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise RuntimeError("lives on another device\nmore")


def refused(reference: Any, device: Any, verdict: str = "refused", **arguments: Any) -> str:
    """Return the sentence of a step that is refused; the comparison then says the same, and takes no further step."""
    run = compare(reference, **(arguments or {"rtol": 1e-5}))
    steps = device if isinstance(device, list) else [device]
    with pytest.raises(RigError) as raised:
        for index, tensors in enumerate(steps):
            run.step(index, tensors)
    assert not isinstance(raised.value, DeviceFault)
    summary = run.summary()
    assert (summary.verdict, summary.sentence) == (verdict, str(raised.value))
    with pytest.raises(type(raised.value)):
        run.check()
    with pytest.raises(RigError, match="came after the comparison had ended"):
        run.step(len(steps), steps[-1])
    sentence = str(raised.value)
    assert sentence.endswith((".", "?")) and "\n" not in sentence
    return sentence


class ReadsLate(Mapping[str, Any]):
    """Tensors that are read from another device when they are asked for: as a whole, or as arrays."""

    def __init__(self, error: RigError, as_array: bool) -> None:
        self.error, self.as_array = error, as_array

    def __getitem__(self, key: str) -> Any:
        if self.as_array:
            return self
        raise self.error

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise self.error

    def __iter__(self) -> Any:
        return iter(["fc1"])

    def __len__(self) -> int:
        return 1


ENDED = CommandEnded(0, None, "none", "none")
NESTED = Difference(FormDifference(0, "w", "missing", "float32 (2,)", "comparison inner: w is missing."))


@pytest.mark.parametrize("error", [DeviceFault("the other device is wrong."), ENDED, Blocked("link", "it is silent.")])
@pytest.mark.parametrize("how", ["step", "values", "array", "stop"])
def test_the_error_of_another_device_stays_what_it_is(error: RigError, how: str) -> None:
    given: dict[str, Any] = {
        "step": error, "stop": StopIteration(error), "values": ReadsLate(error, False), "array": ReadsLate(error, True),
    }  # fmt: skip
    run = compare(Gives(given[how]), exact=True)
    with pytest.raises(RigError) as raised:
        run.step(0, {"fc1": ONES})
    assert raised.value is error and run.error is error and run.first_difference is None


def test_the_difference_of_a_reference_is_none_of_this_comparison() -> None:
    run = compare(Gives(NESTED), exact=True)
    with pytest.raises(DeviceFault, match="comparison inner: "):
        run.step(0, {"fc1": ONES})
    assert run.first_difference is None and run.summary().verdict == "fail"


def test_a_reference_that_raises() -> None:
    assert refused(Gives(ValueError("bad\nbatch")), {"fc1": ONES}) == (
        "step 0: the reference failed (ValueError: bad): correct the reference."
    )
    assert (
        refused(Gives(IndexError()), {"fc1": ONES})
        == "step 0: the reference failed (IndexError: IndexError): correct the reference."
    )
    assert "(it has no such file)" in refused(Gives(RigError("it has no such file.")), {"fc1": ONES})
    assert (
        refused(Gives(Blocked("link", "the other board is silent.")), {"fc1": ONES}, "blocked")
        == "link: the other board is silent."
    )
    with pytest.raises(KeyboardInterrupt):
        compare(Gives(KeyboardInterrupt()), exact=True).step(0, {"fc1": ONES})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "step 0: the reference gave None: give a dictionary of arrays by name."),
        ([ONES], "give a dictionary of arrays by name."),
        ({}, "step 0: the reference gave no tensors, so that nothing can be compared: give at least one."),
        ({"fc1": np.ones((2, 0), np.float32)}, "step 0: tensor fc1 of the reference has no elements (shape (2, 0))"),
        ({1: ONES}, "gave a tensor the name 1: give a string that is not empty."),
        ({" ": ONES}, "gave a tensor the name ' '"),
        ({"fc2": ONES}, "step 0: the reference has no tensor fc1: did you mean fc2?"),
        (
            {"fc1": ONES, "fc2": ONES},
            "step 0: the test gave no tensor fc2, which the reference has: give it, leave it out",
        ),
        (
            {"fc1": ONES.astype(np.float64)},
            "step 0, tensor fc1: the test gives float32 (2, 3), the reference float64 (2, 3)",
        ),
        ({"fc1": ONES.astype(np.int32)}, "the reference int32 (2, 3): give both the dtype and the shape"),
        ({"fc1": ONES.T.copy()}, "the test gives float32 (2, 3), the reference float32 (3, 2)"),
        ({"fc1": ONES[:1]}, "the reference float32 (1, 3)"),
        ({"fc1": 1.0}, "the reference float32 ()"),
        ({"fc1": ONES * np.nan}, "step 0, tensor fc1: the reference has NaN in 6 of 6 elements"),
        (
            {"fc1": ONES.astype(np.complex64)},
            "has the dtype 'complex64': give bool, an integer, float16, float32 or float64",
        ),
        ({"fc1": ONES.astype(np.longdouble)}, "a complex number as two tensors"),
        ({"fc1": np.array(["a"])}, "has the dtype 'str32'"),
        ({"fc1": np.array([{}])}, "has the dtype 'object'"),
        ({"fc1": None}, "has the dtype 'object'"),
        ({"fc1": [[1], [1, 2]]}, "tensor fc1 of the reference is no array"),
        (
            {"fc1": NoArray()},
            "step 0: tensor fc1 of the reference is no array (lives on another device): give a NumPy array or a number.",
        ),
        (Unreadable(), "step 0: the reference gave a dictionary that cannot be read (no such file)."),
    ],
)
def test_a_reference_that_gives_something_else(given: Any, said: str) -> None:
    assert said in refused(Gives(given), {"fc1": ONES})


def test_the_same_of_the_test() -> None:
    reference = Gives({"fc1": ONES.copy()})
    assert refused(reference, None).startswith("step 0: the test, for the device, gave None")
    assert "gave no tensors" in refused(reference, {})
    assert "tensor fc1 of the test, for the device, has no elements" in refused(reference, {"fc1": np.float32([])})
    assert "cannot be read (no such file)" in refused(reference, Unreadable())


def test_a_reference_that_changes_is_wrong_and_not_the_device() -> None:
    steps = [{"fc1": ONES}] * 3
    good = {"fc1": ONES.copy()}
    assert refused(Gives(good, {"fc1": ONES[:1].copy()}), steps) == (
        "step 1, tensor fc1: the reference gives float32 (1, 3), but gave float32 (2, 3) before: correct the reference."
    )
    assert "but gave float32 (2, 3) before" in refused(Gives(good, {"fc1": ONES.astype(np.float64)}), steps)
    assert "the reference has no tensor fc1" in refused(Gives(good, {"fc2": ONES.copy()}), steps)
    assert "step 2, tensor fc1: the reference has NaN" in refused(Gives(good, good, {"fc1": ONES * np.nan}), steps)
    assert "step 1: the test gave no tensor new, which the reference has" in refused(
        Gives(good, good | {"new": ONES}), steps
    )


def test_a_wrong_reference_is_never_the_fault_of_the_device_at_the_same_step() -> None:
    """The device differs in the first tensor; the reference has NaN, or another shape, in the second."""
    good = {"fc1": ONES.copy(), "fc2": ONES.copy()}
    for wrong in (ONES * np.nan, ONES[:1].copy()):
        steps = [{"fc1": ONES, "fc2": ONES}, {"fc1": ONES + 1, "fc2": ONES}]
        assert "step 1, tensor fc2: the reference" in refused(Gives(good, good | {"fc2": wrong}), steps)


def test_a_device_compared_with_itself_is_no_comparison() -> None:
    said = "step 0, tensor fc1: device and reference are the same object or memory, so that nothing is compared"
    assert said in refused(Gives({"fc1": ONES}), {"fc1": ONES}, exact=True)
    assert said in refused(Gives({"fc1": ONES[::-1]}), {"fc1": ONES}, exact=True)
    both = np.zeros((4, 2))  # two columns of one array share no element
    run = compare(Gives({"fc1": both[:, 0]}), exact=True)
    run.step(0, {"fc1": both[:, 1]})
    assert run.check().elements == 4


def test_a_reference_that_writes_into_what_the_device_gave_changes_nothing() -> None:
    class Writes:
        def __init__(self, there: np.ndarray) -> None:
            self.there = there

        def step(self, index: int) -> dict[str, np.ndarray]:
            self.there[:] = index + 1
            return {"w": self.there.copy()}

    memory = bytearray(16)
    for given in (np.zeros(4, np.float32), np.frombuffer(memory, np.float32)):
        given[:] = -99
        run = compare(Writes(given), exact=True)
        with pytest.raises(Difference, match=r"the device has -99\.0 .*, the reference 1\.0"):
            run.step(0, {"w": given})


def test_steps_out_of_order() -> None:
    def run_of(*indices: Any) -> str:
        run = compare(Gives({"fc1": ONES.copy()}), exact=True)
        with pytest.raises(RigError) as raised:
            for index in indices:
                run.step(index, {"fc1": ONES})
        assert run.summary().verdict == "refused"
        return str(raised.value)

    assert run_of(1) == "the first step is 1, but steps count from 0: subtract the number of the first one."
    assert run_of(0, 1, 1) == "step 1 came again after step 1: compare every step once, in order."
    assert run_of(0, 1, 0) == "step 0 came again after step 1: compare every step once, in order."
    assert run_of(0, 1, 3) == "step 3 came after step 1: compare every step once, in order."
    assert run_of(0, -1) == "step -1 came after step 0: compare every step once, in order."
    for wrong in (0.0, "0", None, True):
        assert "is no whole number: count steps from 0." in run_of(wrong)
    run = compare(Gives({"fc1": ONES.copy()}), exact=True)
    run.step(np.int64(0), {"fc1": ONES})
    assert run.check().steps == 1


def test_a_comparison_of_no_step_does_not_pass() -> None:
    run = compare(Gives({"fc1": ONES}), exact=True, name="adam")
    with pytest.raises(RigError, match=r"^comparison adam: no step was compared: call step\(index, tensors\)"):
        run.check()
    assert run.summary().verdict == "refused" and run.summary().elements == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "this comparison has no tolerance: give exact=True, ulp=, rtol= and atol=, max_abs= or mean_abs=."),
        ({"exact": False}, "this comparison has no tolerance"),
        ({"exact": True, "ulp": 2}, "give only one of exact=True"),
        ({"rtol": 1e-5, "ulp": 2}, "give only one of"),
        ({"exact": 1}, "exact=1: give True"),
        ({"ulp": -1}, "ulp=-1: give a whole number, 0 or more."),
        ({"ulp": 1.0}, "ulp=1.0: give a whole number"),
        ({"ulp": True}, "ulp=True: give a whole number"),
        ({"rtol": -1e-5}, "rtol=-1e-05: give a finite number, 0 or more."),
        ({"rtol": float("nan")}, "rtol=nan"),
        ({"atol": float("inf")}, "atol=inf"),
        ({"atol": 10**400}, "atol=a whole number of 1,329 bits: give a finite number"),
        ({"rtol": 1.0}, "rtol=1 would let 0 pass for every value: give a fraction below 1."),
        ({"atol": float("inf")}, "atol=inf"),
        ({"atol": "1e-5"}, "atol='1e-5'"),
        ({"max_abs": -1}, "max_abs=-1"),
        (
            {"mean_abs": None, "by_tensor": {"fc1": 1e-5}},
            "by_tensor has 'fc1': 1e-05: give a name or a pattern, and one of exact(), ulp(2)",
        ),
        ({"by_tensor": {3: ulp(1)}}, "by_tensor has 3"),
    ],
)
def test_wrong_tolerances(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(RigError) as raised:
        compare(Gives({"fc1": ONES}), **arguments)
    assert said in str(raised.value)


def test_a_tolerance_that_nearly_everything_passes() -> None:
    reference = Gives({"fc1": np.float16([1])})
    assert refused(reference, {"fc1": np.float16([2])}, ulp=1024) == (
        "step 0, tensor fc1: ulp=1024 is a factor of two or more in float16: give a smaller tolerance."
    )
    assert "ulp=63 is a quarter of all values of int8" in refused(
        Gives({"q": np.int8([1])}), {"q": np.int8([9])}, ulp=63
    )
    compare(Gives({"q": np.int8([1])}), ulp=62).step(0, {"q": np.int8([9])})


def test_a_tensor_without_a_tolerance() -> None:
    said = refused(
        Gives({"fc1": ONES.copy()}), {"fc1": ONES}, by_tensor={"conv*": rtol(1e-3), "x": max_abs(1), "y": mean_abs(1)}
    )
    assert said.startswith(
        "tensor fc1 has no tolerance: by_tensor has no pattern for it, and there is no default; add {'fc1': ...}"
    )


@pytest.mark.parametrize("reference", [None, {"fc1": ONES}, lambda index: {"fc1": ONES}, Gives, Path("x.npz"), ONES])
def test_what_is_no_reference(reference: Any) -> None:
    with pytest.raises(
        RigError, match=r"has no method step: give an object with step\(index\) -> \{name: array\}, or recorded\(PATH\)"
    ):
        compare(reference, exact=True)
    assert isinstance(Gives(), Reference)


class OfTorch:
    """As a tensor of PyTorch: NumPy takes it only when it is detached and on the host."""

    dtype = "torch.float32"

    def __init__(self, array: np.ndarray, gradient: bool = True, gpu: bool = True) -> None:
        self.inside, self.gradient, self.gpu = array, gradient, gpu

    def detach(self) -> OfTorch:
        return OfTorch(self.inside, False, self.gpu)

    def cpu(self) -> OfTorch:
        return OfTorch(self.inside, self.gradient, False)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        if self.gradient:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        if self.gpu:
            raise TypeError("can't convert cuda:0 device type tensor to numpy.")
        return self.inside


def test_tensors_that_require_a_gradient_and_other_byte_orders() -> None:
    run = compare(Gives({"fc1": OfTorch(ONES.copy())}), exact=True)
    run.step(0, {"fc1": ONES})
    run.step(1, {"fc1": ONES.astype(">f4")})
    assert run.check().tensors[0].dtype == "float32"


def test_a_tensor_of_pytorch() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    run = compare(Gives({"fc1": torch.ones(2, 3, requires_grad=True)}), exact=True)
    run.step(0, {"fc1": ONES})
    assert run.check().elements == 6


class GivesBack:
    """A reference that returns the number of the device itself."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def step(self, index: int) -> Any:
        return {"loss": self.value}


@pytest.mark.parametrize("value", [np.float32(0.5), np.float64(0.5), np.int32(3), np.uint8(3)])
def test_the_number_of_the_device_itself_is_no_reference(value: np.generic) -> None:
    said = refused(GivesBack(value), {"loss": value}, exact=True)
    assert said.startswith("step 0, tensor loss: device and reference are the same object or memory")
    run = compare(GivesBack(value), exact=True)
    run.step(0, {"loss": type(value)(value)})  # another object of the same value is one


def test_numbers_of_which_there_is_one_object_only_are_compared() -> None:
    for value in (True, np.True_, 1, 0.5):
        compare(GivesBack(value), exact=True).step(0, {"loss": value})
