"""What a comparison found: its first difference, and a summary that can be written as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from hil.comparison.drift import Drift
from hil.comparison.measure import Errors
from hil.comparison.tensors import index_of, number_words
from hil.comparison.tolerance import Tolerance, Tolerances
from hil.errors import DeviceFault

Verdict = Literal["pass", "fail", "blocked", "refused"]


@dataclass(frozen=True)
class ValueDifference:
    """The first element of the device that is outside the tolerance.

    Attributes:
        step: index of the step.
        tensor: its name.
        index: of the element in the tensor; for `mean_abs` that of the largest error. Empty for a single number.
        device: value of the device, floats with their bits: `0.5 (0x3f000000)`.
        reference: value of the reference.
        outside: elements of the tensor outside the tolerance at this step.
        elements: elements of the tensor.
        sentence: all of it.
    """

    step: int
    tensor: str
    index: tuple[int, ...]
    device: str
    reference: str
    outside: int
    elements: int
    sentence: str


@dataclass(frozen=True)
class FormDifference:
    """A tensor of the device that changed its dtype or shape, or is missing, while the reference stayed as it was.

    Attributes:
        step: index of the step.
        tensor: its name.
        device: dtype and shape, `float32 (16, 8)`, or `missing`.
        reference: dtype and shape.
        sentence: all of it.
    """

    step: int
    tensor: str
    device: str
    reference: str
    sentence: str


class Difference(DeviceFault):
    """The device differs from the reference by more than the tolerance: the verdict is `fail`.

    Args:
        first: the first difference.

    Attributes:
        first: the first difference.
    """

    def __init__(self, first: ValueDifference | FormDifference) -> None:
        super().__init__(first.sentence)
        self.first = first

    def __reduce__(self) -> tuple[type[Difference], tuple[ValueDifference | FormDifference]]:
        """Give pickle the argument, of which an exception keeps only the message."""
        return type(self), (self.first,)


@dataclass(frozen=True)
class ComparedTensor:
    """One tensor of a comparison, over all its steps.

    Attributes:
        tensor: its name.
        dtype: in which it was compared: `float32`.
        shape: of the tensor.
        steps: steps at which it was compared.
        elements: elements compared over all steps.
        differing: of these, elements with other bits.
        tolerance: in words.
        tolerance_fields: kind and numbers.
    """

    tensor: str
    dtype: str
    shape: tuple[int, ...]
    steps: int
    elements: int
    differing: int
    tolerance: str
    tolerance_fields: dict[str, Any]


@dataclass(frozen=True)
class Summary:
    """A comparison in brief. Every field is plain: `to_json` gives an object that `json.dumps` takes.

    Attributes:
        name: of the comparison; empty if it has none.
        reference: what the device was compared with, in words.
        reference_kind: `computed`, `file`, `elf` or `run`.
        tolerance: all tolerances, in words.
        steps: steps compared.
        tensors: every tensor.
        elements: elements compared, over all steps and tensors.
        differing: of these, elements with other bits.
        first_difference: None if there is none.
        verdict: `pass` only if at least one element was compared, and every tensor was within its tolerance.
        sentence: why.
    """

    name: str
    reference: str
    reference_kind: str
    tolerance: str
    steps: int
    tensors: tuple[ComparedTensor, ...]
    elements: int
    differing: int
    first_difference: ValueDifference | FormDifference | None
    verdict: Verdict
    sentence: str

    def to_json(self) -> dict[str, Any]:
        """Return the fields as dictionaries, tuples and plain values, without NaN or infinities."""
        return asdict(self)


def agreement(steps: int, tensors: tuple[ComparedTensor, ...], limits: Tolerances, drift: Drift) -> str:
    """Return the sentence of a comparison that passes."""
    elements, differing = (sum(getattr(one, name) for one in tensors) for name in ("elements", "differing"))
    counts = ((steps, "step"), (len(tensors), "tensor"), (elements, "element"))
    said = ", ".join(f"{count:,} {word}{'' if count == 1 else 's'}" for count, word in counts) + " compared"
    if not differing:
        return f"{said}: bit for bit equal to the reference (tolerance: {limits.words})."
    step, tensor, errors = drift.worst
    return (
        f"{said}: all within {limits.words}; {differing:,} elements differ, the largest error is "
        f"{errors.max_abs:.6g} (tensor {tensor}, step {step})."
    )


def value_difference(
    place: str,
    step: int,
    tensor: str,
    values: tuple[np.ndarray, np.ndarray],
    tolerance: Tolerance,
    errors: Errors,
) -> ValueDifference:
    """Return the difference of a tensor that is outside its tolerance.

    `place` begins the sentence; `values` are those of the device and of the reference.
    """
    device, reference = values
    index, kind = index_of(device, errors.first), device.dtype.kind
    ours, theirs = number_words(device, errors.first), number_words(reference, errors.first)
    value = device.reshape(-1)[errors.first]
    here, at = f"{place}step {step}, tensor {tensor}", f" at index {index}" if index else ""
    if not np.isfinite(value) and value != reference.reshape(-1)[errors.first]:
        many = f"{errors.nonfinite:,} of {errors.elements:,} elements"
        said = f"{here}: the device has {ours}{at}, the reference {theirs}; {many} have no finite error."
    elif errors.first == errors.worst and errors.mean_abs > tolerance.mean_limit():
        said = (
            f"{here}: the mean error is {errors.mean_abs:.6g}, above {tolerance.words}; the largest is "
            f"{errors.max_abs:.6g}{at}, where the device has {ours}, the reference {theirs}."
        )
    else:
        many = f"{errors.outside:,} of {errors.elements:,} elements"
        what = "differ" if tolerance.words == "exact" else f"are outside {tolerance.words}"
        said = f"{here}: the device has {ours}{at}, the reference {theirs}; {many} {what}, {_apart(errors, kind)}."
    return ValueDifference(step, tensor, index, ours, theirs, errors.outside, errors.elements, said)


def _apart(errors: Errors, kind: str) -> str:
    """Return the largest error of a tensor for a message; `kind` is the letter of its dtype."""
    if not errors.max_abs:
        return "only in the signs of zeros"
    if errors.nonfinite:
        return f"{errors.nonfinite:,} of them without a finite error"
    return f"by {errors.max_abs:.6g} at most" + (f" ({errors.max_ulp:,} ulp)" if kind == "f" else "")
