"""The errors of one tensor at one step: one pass over its elements, in blocks that fit the cache."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hil.comparison.tolerance import ElementErrors, Tolerance

BLOCK = 1 << 15  # elements: the temporary arrays of a block (some 1.5 MB) stay in a cache of the second level
FARTHEST = int(np.iinfo(np.uint64).max)  # distance in ulp of what has no distance: NaN, or an infinity on one side


@dataclass(frozen=True, slots=True)  # a row of the drift: there may be 100,000
class Errors:
    """How far a tensor of the device is from that of the reference.

    Attributes:
        elements: number of elements.
        differing: elements with other bits.
        nonfinite: elements that are NaN or infinite on one side, and not the same infinity on the other.
        outside: elements outside the tolerance; for `mean_abs` all that differ, if the mean is too large.
        max_abs: largest |device - reference|; infinite if `nonfinite` is not 0.
        mean_abs: mean of |device - reference|; infinite as `max_abs`.
        max_relative: largest |device - reference| / |reference|, over elements whose reference is not 0. NaN if it is 0
            in all elements whose values differ; infinite as `max_abs`.
        max_ulp: largest distance in units in the last place (integers: in units of 1); `FARTHEST` if `nonfinite` is
            not 0.
        worst: flat index (C order) of the first element with the largest absolute error; -1 if all values are equal.
        first: flat index of the first element outside the tolerance; -1 if there is none. If only the mean is too
            large, `worst`.
    """

    elements: int
    differing: int
    nonfinite: int
    outside: int
    max_abs: float
    mean_abs: float
    max_relative: float
    max_ulp: int
    worst: int
    first: int

    @property
    def within(self) -> bool:
        """Whether the tensor is within its tolerance."""
        return self.outside == 0


def ulp_distance(device: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return the distance in units in the last place, element by element.

    That is how many steps of `numpy.nextafter` lead from one value to the other; -0.0 and 0.0 are the same value. For
    integers and bool it is the absolute difference.

    Args:
        device: of float16, float32, float64, an integer dtype or bool.
        reference: of the same dtype and shape.

    Returns:
        uint64, of the same shape; its largest value where one side is NaN, or infinite and the other is not equal.
    """
    if device.dtype.kind == "b":
        return _difference(device.view(np.uint8), reference.view(np.uint8))
    if device.dtype.kind != "f":
        return _difference(device, reference)
    distance = _difference(_ordered(device), _ordered(reference))
    distance[_without_distance(device, reference)] = FARTHEST
    return distance


def measure(device: np.ndarray, reference: np.ndarray, tolerance: Tolerance) -> Errors:
    """Return the errors of a tensor.

    Args:
        device: what the device has.
        reference: of the same dtype and shape, without NaN.
        tolerance: of this tensor.
    """
    first_flat, second_flat = (np.ascontiguousarray(one).reshape(-1) for one in (device, reference))
    bits = f"u{device.itemsize}"
    differing = nonfinite = outside = max_ulp = 0
    worst = first = -1
    largest, largest_relative = 0.0, math.nan
    sums = []
    for start in range(0, device.size, BLOCK):
        one, other = first_flat[start : start + BLOCK], second_flat[start : start + BLOCK]
        same_bits = one.view(bits) == other.view(bits)
        if same_bits.all():
            continue
        errors = _element_errors(one, other, same_bits)
        differing += one.size - int(np.count_nonzero(same_bits))
        too_far = tolerance.outside(errors)
        if count := int(np.count_nonzero(too_far)):
            first = start + int(too_far.argmax()) if first < 0 else first
            outside += count
        at = int(errors.distance.argmax())
        distance = float(errors.distance[at])
        if distance > largest:
            largest, worst = distance, start + at
        if distance == math.inf and one.dtype.kind == "f":
            nonfinite += int(np.count_nonzero(errors.ulp == FARTHEST))
        largest_relative = float(np.fmax(largest_relative, _largest_relative(errors)))
        max_ulp = max(max_ulp, int(errors.ulp.max()))
        sums.append(float(errors.distance.sum()))
    mean = _mean(sums, device.size)
    if not outside and mean > tolerance.mean_limit():
        outside, first = differing, worst
    return Errors(device.size, differing, nonfinite, outside, largest, mean,
                  largest_relative if largest else 0.0, max_ulp, worst, first)  # fmt: skip


def _element_errors(device: np.ndarray, reference: np.ndarray, same_bits: np.ndarray) -> ElementErrors:
    size = reference.astype(np.float64)
    if device.dtype.kind != "f":
        ulp = ulp_distance(device, reference)
        return ElementErrors(same_bits, ulp.astype(np.float64), np.abs(size, out=size), ulp)
    with np.errstate(invalid="ignore", over="ignore"):  # inf - inf; a difference beyond the largest float64
        distance = np.subtract(device, size, dtype=np.float64)
    np.abs(distance, out=distance)
    np.abs(size, out=size)
    ulp = _difference(_ordered(device), _ordered(reference))
    if not math.isfinite(distance.max()):  # NaN if there is one; a block without it needs no closer look
        distance[device == reference] = 0.0  # the same infinity
        apart = _without_distance(device, reference)
        distance[apart], ulp[apart] = math.inf, FARTHEST
        size[apart | np.isinf(size)] = 0.0
    return ElementErrors(same_bits, distance, size, ulp)


def _without_distance(device: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return where one side is NaN or infinite and the other is not equal: no number is near an infinity."""
    return np.asarray(~(np.isfinite(device) & np.isfinite(reference)) & (device != reference))


def _largest_relative(errors: ElementErrors) -> float:
    """Return the largest relative error of a block; NaN if the reference is 0 wherever the values differ."""
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):  # 0 / 0, x / subnormal, x / 0
        relative = errors.distance / errors.size
    if not errors.size.min() > 0:
        counts = (errors.distance > 0) & ((errors.size > 0) | np.isinf(errors.distance))
        return float(relative[counts].max()) if counts.any() else math.nan
    return float(relative.max())


def _mean(sums: list[float], elements: int) -> float:
    if any(math.isinf(one) for one in sums):
        return math.inf
    try:
        return math.fsum(sums) / elements
    except OverflowError:  # the sum is beyond the largest float64
        return math.inf


def _ordered(values: np.ndarray) -> np.ndarray:
    """Return the bits of floats as integers in the order of the values: sign and magnitude become two's complement."""
    bits = values.view(f"i{values.itemsize}")
    sign = bits >> (8 * values.itemsize - 1)  # 0 or -1
    ordered = bits & np.iinfo(bits.dtype).max
    ordered ^= sign
    ordered -= sign
    return np.asarray(ordered)


def _difference(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return |one - other| of integers as uint64; modulo 2^bits of their own width it is exact."""
    unsigned = f"u{one.itemsize}"
    high, low = np.maximum(one, other), np.minimum(one, other)
    return np.asarray(high.view(unsigned) - low.view(unsigned), np.uint64)
