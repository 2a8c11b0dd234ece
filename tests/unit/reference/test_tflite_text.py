"""The NumPy form of docs/arithmetic-tflite.md against the text itself, in fractions and loops of Python's own integers."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.training.reference.formats.tflite8.rescale import Quantization, requantize, rescale_double, rescale_single
from tests.oracle import tflite_gradients as gradients
from tests.oracle import tflite_layers as layers
from tests.oracle.tflite_layers import Window

SUMS = st.one_of(st.integers(-(2**31), 2**31 - 1), st.integers(-300, 300))
MULTIPLIERS = st.one_of(st.sampled_from([2**30, 2**31 - 1]), st.integers(2**30, 2**31 - 1))


def as_arrays(*numbers: int) -> tuple[np.ndarray, ...]:
    return tuple(np.array([number], np.int64) for number in numbers)


def half_up(x: Fraction) -> int:
    return floor(x + Fraction(1, 2))


def half_away(x: Fraction) -> int:
    return half_up(x) if x >= 0 else -half_up(-x)


@given(SUMS, MULTIPLIERS, st.integers(-31, 30))
def test_double(acc: int, multiplier: int, shift: int) -> None:
    raised = min(max(acc * 2 ** max(shift, 0), -(2**31)), 2**31 - 1)
    expected = half_away(Fraction(half_up(Fraction(raised * multiplier, 2**31)), 2 ** max(-shift, 0)))
    assert rescale_double(*as_arrays(acc, multiplier, shift)).tolist() == [expected]


@given(SUMS, MULTIPLIERS, st.integers(-31, 30))
def test_single(acc: int, multiplier: int, shift: int) -> None:
    expected = half_up(Fraction(acc * multiplier) * Fraction(2) ** (shift - 31))
    assert rescale_single(*as_arrays(acc, multiplier, shift)).tolist() == [expected]


@given(SUMS, MULTIPLIERS, st.integers(-31, 0))
def test_gemmlowp(acc: int, multiplier: int, shift: int) -> None:
    """gemmlowp's two steps as its headers have them: a nudge by sign and C's division, then a mask and a threshold."""
    product = acc * multiplier
    nudged = product + (2**30 if product >= 0 else 1 - 2**30)
    high = abs(nudged) // 2**31 * (1 if nudged >= 0 else -1)
    mask = 2**-shift - 1
    expected = (high >> -shift) + int((high & mask) > (mask >> 1) + (high < 0))
    assert rescale_double(*as_arrays(acc, multiplier, shift)).tolist() == [expected]


@pytest.mark.parametrize(
    ("acc", "twice", "once"), [(1, 1, 0), (-2, -1, 0), (5, 2, 1), (6, 2, 2), (-6, -2, -1), (-4, -1, -1)]
)
def test_where_the_roundings_differ(acc: int, twice: int, once: int) -> None:
    quarter = as_arrays(acc, 2**30, -1)
    assert rescale_double(*quarter).tolist() == [twice]
    assert rescale_single(*quarter).tolist() == [once]


def test_a_sum_outside_int32_is_refused() -> None:
    quantization = Quantization(0, 0, -128, 127, *as_arrays(2**30, -20))
    with pytest.raises(OverflowError, match="outside int32"):
        requantize(np.array([2**31]), quantization)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Window, np.ndarray, np.random.Generator]:
    height, width = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    kernel = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    stride = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    padding = draw(st.integers(0, kernel[0] - 1)), draw(st.integers(0, kernel[1] - 1))
    axes = zip((height, width), stride, padding, strict=True)
    out = [draw(st.integers(1, (size + pad - 1) // step + 1)) for size, step, pad in axes]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return (
        Window(kernel, (out[0], out[1]), stride, padding),
        rng.integers(-128, 128, (2, height, width, 3)).astype(np.int8),
        rng,
    )


def taps(window: Window, x: np.ndarray) -> list[tuple[tuple[int, int], tuple[int, int], tuple[int, int]]]:
    """Give output position, tap and input position of all that lies inside the image."""
    found = []
    for y, x_, ky, kx in np.ndindex(*window.out, *window.kernel):
        (down, across), (above, left) = window.stride, window.padding
        at = y * down + ky - above, x_ * across + kx - left
        if 0 <= at[0] < x.shape[1] and 0 <= at[1] < x.shape[2]:
            found.append(((y, x_), (ky, kx), at))
    return found


@given(cases(), st.integers(-128, 127))
def test_conv2d_and_its_gradients(case: tuple[Window, np.ndarray, np.random.Generator], zero: int) -> None:
    window, x, rng = case
    weights = rng.integers(-127, 128, (2, *window.kernel, 3)).astype(np.int8)
    bias, error = rng.integers(-99, 99, 2), rng.integers(-128, 128, (2, *window.out, 2)).astype(np.int8)
    acc = np.zeros((2, *window.out, 2), np.int64) + bias
    gradient, back = np.zeros(weights.shape, np.int64), np.zeros(x.shape, np.int64)
    for position, tap, at in taps(window, x):
        for b, o, c in np.ndindex(2, 2, 3):
            value, weight = int(x[(b, *at, c)]) - zero, int(weights[(o, *tap, c)])
            acc[(b, *position, o)] += value * weight
            gradient[(o, *tap, c)] += value * int(error[(b, *position, o)])
            back[(b, *at, c)] += weight * int(error[(b, *position, o)])
    quantization = Quantization(zero, 3, -100, 90, np.array([2**30, 2**31 - 1]), np.array([-7, -9]))
    np.testing.assert_array_equal(layers.conv2d(x, weights, bias, window, quantization), requantize(acc, quantization))
    np.testing.assert_array_equal(gradients.conv2d_weight_gradient(error, x, window, zero), gradient)
    np.testing.assert_array_equal(gradients.conv2d_input_error(error, weights, window, x.shape[1:3]), back)


@given(cases(), st.integers(-128, 127))
def test_depthwise_and_its_gradients(case: tuple[Window, np.ndarray, np.random.Generator], zero: int) -> None:
    """A depthwise convolution is conv2d whose weights between different channels are 0."""
    window, x, rng = case
    weights = rng.integers(-127, 128, (*window.kernel, 3)).astype(np.int8)
    full = np.zeros((3, *window.kernel, 3), np.int8)
    full[[0, 1, 2], :, :, [0, 1, 2]] = np.moveaxis(weights, -1, 0)
    bias, error = rng.integers(-99, 99, 3), rng.integers(-128, 128, (2, *window.out, 3)).astype(np.int8)
    quantization = Quantization(
        zero, -5, -128, 127, np.array([2**30, 2**31 - 1, 2**30 + 9]), np.array([-7, -6, -8]), "single"
    )
    np.testing.assert_array_equal(
        layers.depthwise(x, weights, bias, window, quantization), layers.conv2d(x, full, bias, window, quantization)
    )
    dense = gradients.conv2d_weight_gradient(error, x, window, zero)[[0, 1, 2], :, :, [0, 1, 2]]
    np.testing.assert_array_equal(
        gradients.depthwise_weight_gradient(error, x, window, zero), np.moveaxis(dense, 0, -1)
    )
    np.testing.assert_array_equal(
        gradients.depthwise_input_error(error, weights, window, x.shape[1:3]),
        gradients.conv2d_input_error(error, full, window, x.shape[1:3]),
    )


@given(cases())
def test_pools(case: tuple[Window, np.ndarray, np.random.Generator]) -> None:
    window, x, _ = case
    seen: dict[tuple[int, ...], list[int]] = {}
    for position, _tap, at in taps(window, x):
        for b, c in np.ndindex(2, 3):
            seen.setdefault((b, *position, c), []).append(int(x[(b, *at, c)]))
    largest, mean = layers.max_pool(x, window, -120, 99), layers.average_pool(x, window, -120, 99)
    assert len(seen) == largest.size == mean.size
    for place, values in seen.items():
        assert largest[place] == min(max(max(values), -120), 99)
        assert mean[place] == min(max(half_away(Fraction(sum(values), len(values))), -120), 99)
