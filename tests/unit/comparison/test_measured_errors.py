"""The errors of a tensor against loops over Python's own numbers, for every tolerance and over the ends of blocks."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hil.comparison.measure as room
from hil.comparison import Tolerance, atol, exact, max_abs, mean_abs, rtol, ulp
from hil.comparison.measure import FARTHEST, measure

DTYPES = (np.float16, np.float32, np.float64, np.int8, np.int64, np.uint64, np.bool_)
TOLERANCES = (exact(), ulp(0), ulp(3), rtol(0.0), rtol(1e-2), rtol(1e-3, 1e-2), atol(0.5), max_abs(2.0), mean_abs(0.25))


def bits_of(value: np.generic) -> int:
    return int.from_bytes(value.tobytes(), "little")


def apart(one: np.generic, other: np.generic) -> tuple[float, int]:
    """Return the distance, rounded once, and the distance in ulp, of two numbers; infinite if they have none."""
    if one.dtype.kind in "iub":
        far = abs(int(one) - int(other))
        return float(far), far
    if one == other:
        return 0.0, 0
    if not (np.isfinite(one) and np.isfinite(other)):
        return math.inf, FARTHEST
    top = 1 << (8 * one.itemsize - 1)
    places = [-(bits - top) if bits >= top else bits for bits in (bits_of(one), bits_of(other))]
    try:
        far = float(abs(Fraction(float(one)) - Fraction(float(other))))
    except OverflowError:
        far = math.inf
    return far, abs(places[0] - places[1])


def is_outside(one: np.generic, other: np.generic, tolerance: Tolerance, far: float, units: int) -> bool:
    fields = tolerance.fields()
    match fields["kind"]:
        case "exact":
            return bits_of(one) != bits_of(other)
        case "ulp":
            return units > fields["units"]
        case "close":
            return far > 0 and (units == FARTHEST or far > fields["atol"] + fields["rtol"] * abs(float(other)))
        case "max_abs":
            return far > fields["limit"]
    return math.isinf(far)


def check(device: np.ndarray, reference: np.ndarray, tolerance: Tolerance) -> None:
    found = measure(device, reference, tolerance)
    pairs = list(zip(device.reshape(-1), reference.reshape(-1), strict=True))
    fars = [apart(one, other) for one, other in pairs]
    outside = [is_outside(*pair, tolerance, *far) for pair, far in zip(pairs, fars, strict=True)]
    differing = sum(bits_of(one) != bits_of(other) for one, other in pairs)
    largest = max(far for far, _ in fars)
    assert (found.elements, found.differing) == (len(pairs), differing)
    assert found.nonfinite == sum(
        units == FARTHEST and one.dtype.kind == "f" for (one, _), (_, units) in zip(pairs, fars, strict=True)
    )
    assert found.max_abs == largest
    assert found.max_ulp == max(units for _, units in fars)
    assert found.worst == ([far for far, _ in fars].index(largest) if largest else -1)
    mean = sum(far for far, _ in fars) / len(fars)
    assert found.mean_abs == pytest.approx(mean, rel=1e-12)
    if any(outside) or tolerance.fields()["kind"] != "mean_abs":
        assert found.outside == sum(outside) and found.first == (outside.index(True) if any(outside) else -1)
    elif mean != pytest.approx(tolerance.mean_limit(), rel=1e-9):
        assert (found.outside, found.first) == ((differing, found.worst) if mean > tolerance.mean_limit() else (0, -1))
    relative = [
        math.inf if units == FARTHEST and one.dtype.kind == "f" else far / abs(float(other))
        for (one, other), (far, units) in zip(pairs, fars, strict=True)
        if far and (float(other) or math.isinf(far))
    ]
    if not largest:
        assert found.max_relative == 0.0
    elif not relative:
        assert math.isnan(found.max_relative)
    else:
        assert found.max_relative == max(relative)


@st.composite
def tensors(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Two tensors that are mostly near each other: by a few units, by signs of zeros, infinite, far, NaN."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    size = draw(st.integers(1, 30))
    if dtype.kind == "b":
        element: st.SearchStrategy[object] = st.booleans()
    elif dtype.kind == "f":
        element = st.one_of(
            st.floats(width=8 * dtype.itemsize, allow_nan=False), st.sampled_from([0.0, -0.0, 1.0, 0.5])
        )
    else:
        element = st.integers(int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    reference = np.array(draw(st.lists(element, min_size=size, max_size=size)), dtype)
    device = reference.copy()
    for at in draw(st.lists(st.integers(0, size - 1), max_size=8)):
        how = draw(st.sampled_from(["other", "next", "negative", "nan"]))
        if how == "other" or dtype.kind != "f":
            device[at] = draw(element)
        elif how == "next":
            device[at] = np.nextafter(device[at], dtype.type(np.inf))
        else:
            device[at] = -device[at] if how == "negative" else np.nan
    return device, reference


@pytest.mark.filterwarnings("ignore:overflow encountered in nextafter")
@given(tensors(), st.sampled_from(TOLERANCES), st.sampled_from([1, 2, 7, 1 << 15]))
@settings(max_examples=400)
def test_against_loops(pair: tuple[np.ndarray, np.ndarray], tolerance: Tolerance, block: int) -> None:
    before, room.BLOCK = room.BLOCK, block
    try:
        check(*pair, tolerance)
    finally:
        room.BLOCK = before


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("tolerance", TOLERANCES, ids=lambda one: one.words)
def test_nan_and_infinities_of_the_device_are_outside_everything(tolerance: Tolerance) -> None:
    reference = np.array([1.0, 2.0, np.inf, np.finfo(np.float32).max], np.float32)
    for at, bad in ((0, np.nan), (1, -np.inf), (2, 3e38), (2, -np.inf), (2, np.nan), (3, np.inf)):
        device = reference.copy()
        device[at] = bad
        found = measure(device, reference, tolerance)
        assert (found.first, found.outside, found.nonfinite, found.within) == (at, 1, 1, False)
        assert found.max_abs == found.mean_abs == found.max_relative == math.inf and found.max_ulp == FARTHEST
    assert measure(reference.copy(), reference, tolerance).within


def test_a_difference_beyond_the_largest_float64_is_outside() -> None:
    largest = np.finfo(np.float64).max
    found = measure(np.array([largest]), np.array([-largest]), rtol(0.5, 1e300))
    assert not found.within and found.max_abs == math.inf and found.nonfinite == 0 and found.max_ulp < FARTHEST


def test_tensors_of_other_orders_in_memory() -> None:
    one = np.arange(12, dtype=np.float32).reshape(3, 4)
    other = np.asfortranarray(one + (np.arange(12).reshape(3, 4) == 5))
    assert measure(one, other, exact()).first == 5
    assert measure(one[::2], other[::2], exact()).within


def test_close_is_what_numpy_calls_close() -> None:
    random = np.random.default_rng(1)
    reference = random.normal(size=4000)
    device = reference * (1 + random.normal(size=4000) * 1e-3) + random.normal(size=4000) * 1e-3
    found = measure(device, reference, rtol(1e-3, 1e-3))
    expected = ~np.isclose(device, reference, rtol=1e-3, atol=1e-3)
    assert found.outside == expected.sum() > 100 and found.first == expected.argmax()
