"""The kernels of docs/arithmetic-zeroth-order.md as they stand in the committed images, against the text in Python's integers."""

from __future__ import annotations

import struct
from fractions import Fraction
from math import floor

import numpy as np
import pytest

pytest.importorskip("unicorn", reason="the virtual core needs the extra `virtual`")

LENGTHS = (1, 3, 31, 32, 33, 64, 100, 133)


def xorshift32(x):
    x ^= x << 13 & 0xFFFF_FFFF
    x ^= x >> 17
    return x ^ (x << 5 & 0xFFFF_FFFF)


def draws(state, count):
    """Return `count` xi of the stream that begins with a state."""
    found = np.empty(count, np.int64)
    for i in range(count):
        state = xorshift32(state)
        found[i] = -1 if state & 1 else 1
    return found


def signs_of(state):
    """Return what the kernels carry for a state: the signs of its next 32 draws."""
    return int(sum(1 << i for i, xi in enumerate(draws(state, 32)) if xi < 0))


def signs_behind(state, count):
    return int(sum(1 << i for i, xi in enumerate(draws(state, count + 32)[count:]) if xi < 0))


def a_state(rng):
    return int(rng.integers(1, 1 << 32))


def half_away(x, n):
    """x / 2^n, half away from zero."""
    return x if n == 0 else (1 if x >= 0 else -1) * ((abs(x) + (1 << n - 1)) >> n)


def test_a_stream_begins_with_its_state(machine):
    for state in (*(1 << i for i in range(32)), 0xFFFF_FFFF, 0x6D2B_79F5):
        machine.call("rademacher_begin", state)
        assert machine.result == signs_of(state)


@pytest.mark.parametrize("k", [1, -1])
def test_weights_and_biases(machine, k):
    rng = np.random.default_rng(1)
    for n in LENGTHS:
        state = a_state(rng)
        xi = draws(state, n + 20)
        weights = rng.choice([-126, 126, 0, -1, 5, 100], n).astype(np.int8)
        at = machine.put(weights)
        machine.call("perturb_weights_s8", at, n, signs_of(state), k)
        assert (machine.get(at, n, np.int8) == weights + k * xi[:n]).all(), n
        assert machine.result == signs_behind(state, n)
        bias, shift = rng.integers(-(2**30), 2**30, 20).astype(np.int32), rng.integers(-31, 31, 20).astype(np.int8)
        at_bias, at_shift = machine.put(bias), machine.put(shift)
        machine.call("perturb_biases_s32", at_bias, at_shift, 20, machine.result, k)
        steps = np.array([2 ** min(max(-int(s), 0), 20) for s in shift])
        assert (machine.get(at_bias, 20, np.int32) == bias + k * xi[n:] * steps).all(), n
        assert machine.result == signs_behind(state, n + 20)
        machine.call("perturb_weights_s8", at, n, signs_of(state), -k)
        assert (machine.get(at, n, np.int8) == weights).all(), n


@pytest.mark.parametrize(
    "limits", [(-128, 127), (-128, 20), (-3, 40), (7, 7), (7, 8), (127, 127), (-128, -128), (-128, -126)]
)
def test_nodes(machine, limits):
    rng, (act_min, act_max) = np.random.default_rng(2), limits
    for n in (1, 33, 256):
        state = a_state(rng)
        a = np.arange(n).astype(np.int8) if n == 256 else rng.integers(-128, 128, n).astype(np.int8)
        inside = (a > act_min) & (a < act_max)
        out = machine.room(n)
        machine.call("perturb_nodes_s8", machine.put(a), n, act_min, act_max, signs_of(state), out)
        assert (machine.get(out, n, np.int8) == a + inside * draws(state, n)).all()
        assert machine.result == signs_behind(state, n)


def queries_of(machine, rng, count, largest):
    states = [a_state(rng) for _ in range(count)]
    deltas = rng.choice([-largest, largest, *rng.integers(-largest, largest + 1, 8)], count)
    packed = b"".join(struct.pack("<Ii", signs_of(s), d) for s, d in zip(states, deltas, strict=True))
    return states, deltas, machine.put(packed)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 127])
@pytest.mark.parametrize("largest", [1, 100, 2**21])
def test_gradients_and_errors(machine, count, largest):
    rng = np.random.default_rng(count)
    for n in (1, 37, 64) if count < 100 else (37,):
        states, deltas, at = queries_of(machine, rng, count, largest)
        expected = sum(int(d) * draws(s, n) for s, d in zip(states, deltas, strict=True))
        sums = machine.room(4 * n)
        machine.call("signed_sums_s32", at, count, n, sums)
        assert (machine.get(sums, n, np.int32) == expected).all()
        behind = machine.get(at, (count, 2), np.uint32)[:, 0]
        assert [int(s) for s in behind] == [signs_behind(s, n) for s in states]

        states, deltas, at = queries_of(machine, rng, count, largest)
        sums = sum(int(d) * draws(s, n) for s, d in zip(states, deltas, strict=True))
        shift = max(int(np.abs(deltas).sum()).bit_length() - 7, 0)
        clean = rng.integers(-128, 128, n).astype(np.int8)
        e8 = [
            max(min(half_away(int(e), shift), 127), -127) if -128 < a < 90 else 0
            for e, a in zip(sums, clean, strict=True)
        ]
        machine.call("node_error_shift", at, count)
        assert machine.result == shift
        errors = machine.room(n)
        machine.call("node_errors_s8", machine.put(clean), n, -128, 90, at, count, shift, errors)
        assert (machine.get(errors, n, np.int8) == e8).all()


def factor(rate, scale, multiplier, shift, c, qas):
    """f of section 6, in binary32; `c` is C of the output (docs/arithmetic-tflite.md, section 7.4), 0 with weights perturbed."""
    f = np.float32(rate)
    with np.errstate(all="ignore"):
        if c:
            f = f * (np.float32(c) * (np.float32(multiplier) * np.float32(2.0 ** (shift - 31))))
        if qas:
            f = (f / scale) / scale
    return f


def step(f, gradient, exponent):
    """D of section 6, in fractions."""
    if not np.isfinite(f) or abs(f) < np.finfo(np.float32).tiny:
        return 0
    exact = abs(int(gradient)) * Fraction(float(f)) * Fraction(2) ** exponent
    m, k = Fraction(float(f)), 0
    while m >= 2**24:
        m, k = m / 2, k + 1
    while m < 2**23:
        m, k = m * 2, k - 1
    n = -(k + exponent)
    size = 0 if n > 62 else min(floor(exact + Fraction(1, 2)), 2**30) if n >= 1 else min(exact, 2**30)
    return int(size) if gradient >= 0 else -int(size)


@pytest.mark.parametrize("depthwise", [False, True])
@pytest.mark.parametrize("c", [0.0, 1.0, 1.3671875])
@pytest.mark.parametrize("qas", [False, True])
def test_updates(machine, depthwise, c, qas):
    nodes, rng = c > 0, np.random.default_rng(4)
    for rate in (1e-30, 3e-9, 2e-4, 0.05, 1.0, 77.0, 1e30, 0.0, 1e-40):
        channels, taps, exponent = 5, int(rng.integers(1, 12)), int(rng.integers(-18, 6))
        scale = rng.uniform(0.003, 2.0, channels).astype(np.float32)
        multiplier, shift = rng.integers(1 << 30, 1 << 31, channels), rng.integers(-12, 3, channels)
        fields = machine.put(scale), machine.put(multiplier.astype(np.int32)), machine.put(shift.astype(np.int8))
        packed = struct.pack(
            "<f?xxxf??xxIIfIIIi", rate, nodes, c, qas, depthwise, taps, channels, 0.02, *fields, exponent
        )
        update, size = machine.put(packed), channels * taps
        first = int(rng.integers(0, size))
        weights = rng.integers(-126, 127, size - first).astype(np.int8)
        gradient = (rng.integers(-(2**31), 2**31, size - first) >> rng.integers(0, 31, size - first)).astype(np.int32)
        owner = [i % channels if depthwise else i // taps for i in range(first, size)]
        factors = [factor(rate, scale[o], multiplier[o], shift[o], c, qas) for o in range(channels)]
        moved = [int(w) - step(factors[o], g, exponent) for w, g, o in zip(weights, gradient, owner, strict=True)]
        expected = np.clip(moved, -126, 126)
        at, sums = machine.put(weights), machine.put(np.zeros(channels, np.int32))
        machine.call("apply_gradient_s8", at, machine.put(gradient), first, size - first, update, sums)
        assert (machine.get(at, size - first, np.int8) == expected).all(), rate
        growth = [
            sum(int(expected[i]) - int(weights[i]) for i, o in enumerate(owner) if o == c) for c in range(channels)
        ]
        assert machine.get(sums, channels, np.int32).tolist() == growth, rate

        bias, gradient = rng.integers(-5000, 5000, channels).astype(np.int32), gradient[-1:].repeat(channels)
        unit = np.float32(0.02) * scale
        lowered = [0 if nodes else min(max(-int(s), 0), 20) for s in shift]
        factors = [factor(rate, unit[o], multiplier[o], shift[o], c, qas) for o in range(channels)]
        moved = [int(bias[o]) - step(factors[o], gradient[o], exponent - lowered[o]) for o in range(channels)]
        at = machine.put(bias)
        machine.call("apply_gradient_s32", at, machine.put(gradient), 0, channels, update)
        most = 2**30 - 2**20
        assert (machine.get(at, channels, np.int32) == np.clip(moved, -most, most)).all(), rate


def rescale(acc, multiplier, shift, single):
    """Section 3 of arithmetic-tflite.md, for shifts that are not to the left."""
    if single:
        return floor(Fraction(acc * multiplier + (1 << 30 - shift), 1 << 31 - shift))
    return half_away(floor(Fraction(acc * multiplier + (1 << 30), 1 << 31)), -shift)


@pytest.mark.parametrize("single", [False, True])
def test_add(machine, single):
    rng = np.random.default_rng(5)
    for case in range(40):
        multipliers = [int(m) for m in rng.integers(1 << 30, 1 << 31, 3)] if case % 4 else [2**30, 2**31 - 1, 2**30]
        shifts = [int(rng.integers(-31, 1)), 0, int(rng.integers(-22, -16))] if case % 3 else [-1, 0, -19]
        zeros = [int(z) for z in rng.choice([-128, 127, 3, -40], 3)]
        act_min, act_max = (-128, 127) if case % 2 else (-100, 60)
        n = 50
        a, b = (rng.integers(-128, 128, n).astype(np.int8) for _ in "ab")
        operands = [struct.pack("<ibbxx", *fields) for fields in zip(multipliers, shifts, zeros, strict=True)]
        layer = machine.put(b"".join(operands) + struct.pack("<bb?x", act_min, act_max, single))
        terms = [
            [rescale((int(q) - z) * 2**20, m, s, single) for q in v]
            for v, m, s, z in zip((a, b), multipliers, shifts, zeros, strict=False)
        ]
        sums = [rescale(p + q, multipliers[2], shifts[2], single) + zeros[2] for p, q in zip(*terms, strict=True)]
        out = machine.room(n)
        machine.call("tflite_add_s8", machine.put(a), machine.put(b), n, layer, out)
        assert (machine.get(out, n, np.int8) == np.clip(sums, act_min, act_max)).all(), case


def test_accumulation_saturates(machine):
    rng = np.random.default_rng(6)
    for shift in (0, 1, 7, 30, 31, 60):
        gradient, sample = (rng.choice([-(2**31), 2**31 - 1, 5, -77, 2**20, -1], 40).astype(np.int32) for _ in "ab")
        at = machine.put(gradient)
        machine.call("add_gradient_s32", at, machine.put(sample), 40, shift)
        cut = [0 if shift >= 31 else int(Fraction(int(s), 1 << shift)) for s in sample]
        assert (machine.get(at, 40, np.int32) == np.clip(gradient + np.array(cut), -(2**31), 2**31 - 1)).all(), shift


def test_channels_by_themselves_and_folded_biases(machine):
    rng = np.random.default_rng(7)
    values = rng.integers(-128, 128, (9, 13)).astype(np.int8)
    packed = machine.room(9 * 4)
    machine.call("pack_channels_s8", machine.put(values), 9, 13, 8, 4, packed)
    assert (machine.get(packed, (9, 4), np.int8) == values[:, 8:12]).all()
    for taps in (1, 2, 3, 9, 25, 27, 1100):
        weights, bias = (
            rng.integers(-127, 128, (6, taps)).astype(np.int8),
            rng.integers(-(2**30), 2**30, 6).astype(np.int32),
        )
        weights[0] = 127
        sums = weights.astype(np.int32).sum(axis=1, dtype=np.int32)
        expected, folded = bias.astype(np.int64) + 128 * sums, machine.room(24)
        machine.call("tflite_fold_bias", machine.put(bias), machine.put(weights), taps, 1, 6, taps, -128, folded)
        assert (machine.get(folded, 6, np.int32) == expected.astype(np.int32)).all(), taps
        machine.call("tflite_fold_bias_sums", machine.put(bias), machine.put(sums), -128, 6, folded)
        assert (machine.get(folded, 6, np.int32) == expected.astype(np.int32)).all(), taps
