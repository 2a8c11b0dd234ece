"""What docs/arithmetic-affine8.md, sections 2, 6 and 7, say of the oracle's pieces, against exact fractions."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.oracle import affine8
from tests.oracle.affine8_numbers import (
    Range,
    factor,
    float_of,
    float_tensor,
    integer_tensor,
    params,
    quantize,
    rescale,
    running_tensor,
)
from tests.oracle.float32 import windows
from tests.oracle.numbers import F32

from .drawn_affine8 import drawn_network, images

ROUNDINGS = st.sampled_from(["nearest", "floor"])
SUMS = st.integers(-(2**31) + 2**20, 2**31 - 2**20)
PAIRS = st.tuples(st.integers(2**15, 2**16 - 1) | st.just(0), st.integers(16, 46))


def binary32(low: float, high: float) -> st.SearchStrategy[np.float32]:
    """Draw binary32 numbers, many of them close to 0 and to the ends."""
    ends = float(F32(low)), float(F32(high))
    return st.floats(*ends, width=32).map(F32)


@given(st.integers(0, 0x7F800000))
@settings(max_examples=2000)
def test_factor(bits: int) -> None:
    f = np.uint32(bits).view(np.float32)
    m, n = factor(f)
    if not np.isfinite(f) or f < 2.0**-126 or f < 2.0**-31:
        assert (m, n) == (0, 46)
    elif f >= 1:
        assert (m, n) == (65535, 16)
    else:
        exact = Fraction(float(f))
        assert 2**15 <= m < 2**16 and 16 <= n <= 46
        assert m == floor(exact * 2**n)
        assert 0 <= exact - Fraction(m, 2**n) < exact / 2**15


@given(SUMS, PAIRS)
@settings(max_examples=1000)
def test_rescale(a: int, by: tuple[int, int]) -> None:
    exact = Fraction(a * by[0], 2 ** by[1])
    assert rescale(a, by, "nearest") == floor(exact + Fraction(1, 2))
    assert rescale(a, by, "floor") == floor(exact)


@given(SUMS, PAIRS)
@settings(max_examples=1000)
def test_the_forms_of_rescale_for_each_core(a: int, by: tuple[int, int]) -> None:
    """Section 7: SMMUL for n >= 18, and two MULS of int32 for n >= 17; `>>` is floor here."""
    m, n = by
    p = (a >> 16) * m + (((a & 65535) * m) >> 16)
    assert p == floor(Fraction(a * m, 2**16)) and -(2**31) <= p < 2**31
    if n >= 17:
        assert (p + 2 ** (n - 17)) >> (n - 16) == rescale(a, by, "nearest")
    if n >= 18:
        assert (((a * (m * 2**15)) >> 32) + 2 ** (n - 18)) >> (n - 17) == rescale(a, by, "nearest")


@given(st.integers(-(2**64) + 1, 2**64 - 1))
@settings(max_examples=1000)
def test_float_of_an_integer(i: int) -> None:
    found = Fraction(float(float_of(i)))
    below, above = (Fraction(float(np.nextafter(float_of(i), F32(side)))) for side in (-np.inf, np.inf))
    assert abs(found - i) <= min(abs(below - i), abs(above - i))
    if abs(i) < 2**24:
        assert found == i


@given(binary32(-(2.0**29), 0), binary32(0, 2.0**29), ROUNDINGS)
@settings(max_examples=1000)
def test_zero_is_always_in_a_range(low: np.float32, high: np.float32, rounding: str) -> None:
    assume(high - low >= F32(2.0**-20))
    s, j, z = params(low, high, rounding)
    assert s > 0 and -128 <= z <= 127
    assert quantize(F32(0), j, z, rounding) == z
    for x in (low, high):
        assert abs(float(s) * (quantize(x, j, z, rounding) - z) - float(x)) <= float(s) * 1.001


@given(binary32(-8, 0), binary32(0, 8), st.lists(binary32(-9, 9), min_size=2, max_size=40), ROUNDINGS)
@settings(max_examples=500)
def test_quantize_is_monotone(low: np.float32, high: np.float32, x: list[np.float32], rounding: str) -> None:
    assume(high - low >= F32(2.0**-20))
    _, j, z = params(low, high, rounding)
    q = [quantize(one, j, z, rounding) for one in sorted(x)]
    assert q == sorted(q) and q[0] >= -128 and q[-1] <= 127


@given(st.lists(binary32(-1, 1), min_size=1, max_size=20), st.integers(-90, 40), ROUNDINGS)
@settings(max_examples=500)
def test_float_tensors(values: list[np.float32], exponent: int, rounding: str) -> None:
    values = [one * F32(2.0**exponent) for one in values]
    found = float_tensor(values, rounding)
    if found.s == 0:
        assert max(values) - min(values) < 2.0**-100 and set(found.q) == {0} and found.z == 0
        return
    away = 0.502 if rounding == "nearest" else 1.002  # of a step; an end may be cut off by one that z is rounded by
    for x, step in zip(values, found.steps, strict=True):
        assert abs(float(found.s) * step - float(x)) <= 2 * away * float(found.s)
        assert x != 0 or step == 0


@given(st.lists(SUMS, min_size=1, max_size=20), st.integers(0, 31), binary32(1e-6, 1e3), ROUNDINGS)
@settings(max_examples=500)
def test_integer_tensors(acc: list[int], shift: int, c: np.float32, rounding: str) -> None:
    """Small sums are kept; others are off by a step, in their order, and 0 stays 0."""
    acc = [one >> shift for one in acc]
    assume(max(0, *acc) - min(0, *acc) < 2**32)
    found = integer_tensor(acc, c, rounding)
    assert all(-128 <= q <= 127 for q in found.q) and -128 <= found.z <= 127
    if max(0, *acc) - min(0, *acc) <= 255:
        assert [F32(step) * found.s for step in found.steps] == [F32(a) * c for a in acc]
        return
    for a, step in zip(acc, found.steps, strict=True):
        assert abs(float(found.s) * step - float(c) * a) <= (1.01 if rounding == "nearest" else 2.01) * float(found.s)
        assert a != 0 or step == 0
    assert [q for _, q in sorted(zip(acc, found.q, strict=True))] == sorted(found.q)


@given(st.lists(st.lists(st.integers(-(2**24), 2**24), min_size=2, max_size=6), min_size=1, max_size=8), ROUNDINGS)
@settings(max_examples=300)
def test_running_ranges(samples: list[list[int]], rounding: str) -> None:
    """The range holds 0 and lies between what was seen; a scale is never below c, so no factor is above 1."""
    kept, c, seen = Range(), F32(2.0**-10), [0]
    for acc in samples:
        found = running_tensor(acc, c, rounding, kept, F32(0.0625))
        seen += acc
        assert float(kept.low) <= 0 <= float(kept.high)
        assert min(seen) * 2.0**-10 * 1.0001 <= kept.low and kept.high <= max(seen) * 2.0**-10 * 1.0001
        assert found.s == 0 or found.s >= c
        assert all(q == found.z for a, q in zip(acc, found.q, strict=True) if a == 0)
        assert -128 <= found.z <= 127


@pytest.mark.parametrize("seed", range(20))
def test_folded_biases(seed: int) -> None:
    """Section 7: with b' and padding filled with z_x, sums of q_x * w' are the sums of section 3, modulo 2^32."""
    rng = np.random.default_rng(seed)
    network = drawn_network(rng)
    (image,), _ = images(network, 1, rng)
    values = affine8.forward(network, image)
    for layer in network.layers:
        if not layer.weights or layer.op == "fully_connected":
            continue
        x, z_x = values[layer.reads[0]], network.scale(layer.reads[0])[1]
        exact, _ = affine8.accumulated(network, layer, [x])
        inputs, outputs = layer.in_shape[2], layer.channels
        taps = layer.kernel[0] * layer.kernel[1]
        found = []
        for window in windows(layer.node):
            inside = dict(window)
            for o in range(outputs):
                acc = affine8.folded(network, layer)[o]
                for tap in range(taps):
                    for i in [o] if layer.op == "depthwise" else range(inputs):
                        w = tap * outputs + o if layer.op == "depthwise" else (o * taps + tap) * inputs + i
                        q = x[inside[tap] * inputs + i] if tap in inside else z_x
                        acc += q * (layer.weights[w] - layer.z_w)
                found.append(acc % 2**32)
        assert found == [acc % 2**32 for acc in exact]


def test_bounds_of_sums() -> None:
    """Section 6."""
    assert 255**2 * 2**14 + 2**29 == 1602240512 < 2**31 - 2**29
    assert 255**2 * 2**15 == 2130739200 < 2**31
    assert 2 * 255 * 2**14 < 255 * 2**15 + 1 <= 2**23
    assert 2 * (255**2 * 2**15) < 2**32 and (255**2 * 2**15 * 65535).bit_length() <= 47
    narrow = [wide for wide in range(256, 2000) if factor(F32(255) / F32(wide))[1] <= 17]
    assert narrow == list(range(256, 1021)) and 1020 * 65535 < 2**31
