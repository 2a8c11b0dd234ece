"""The kernels of w16a8 and the moves of QZO-FF in the committed images, against their texts in Python's integers."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from benchmarks.test_moves_on_the_core import following, stream
from hil.training.benchmarks.kernels.shapes import LayerShape

pytest.importorskip("unicorn", reason="the virtual core needs the extra `virtual`")

MULTIPLIER, Z_X, Z_Y, ACT_MIN, ACT_MAX = 0x5A00_0001, -7, 3, -100, 90


def output(acc, shift):
    """Section 2 of arithmetic-w16a8.md, of one exact sum."""
    held = min(max(int(acc), -(2**31)), 2**31 - 1)
    return min(max(Z_Y + ((held * MULTIPLIER + (1 << 30 - shift)) >> 31 - shift), ACT_MIN), ACT_MAX)


def layer_of(machine, bias, shift):
    at = machine.put(bias.astype(np.int32))
    return machine.put(struct.pack("<4bIiI", Z_X, Z_Y, ACT_MIN, ACT_MAX, MULTIPLIER, shift, at))


def windows(shape, x):
    p, k = shape.padding, shape.kernel
    padded = np.pad(x.astype(np.int64) - Z_X, ((p, p), (p, p), (0, 0)))
    return [[padded[y : y + k, c : c + k] for c in range(shape.out_w)] for y in range(shape.out_h)]


def layer_parts(machine, rng, channels):
    shift = int(rng.integers(-22, -9))
    bias = rng.integers(-(2**20), 2**20, channels)
    return shift, bias, layer_of(machine, bias, shift)


@pytest.mark.parametrize("kernel", [1, 2, 3])
def test_convolutions(machine, kernel):
    """Odd and even numbers of taps, channels and positions, with and without padding."""
    rng = np.random.default_rng(kernel)
    for in_c, out_c in ((1, 1), (2, 3), (3, 2), (5, 4), (8, 5), (17, 2), (33, 3)):
        shape = LayerShape(kernel + 1, kernel + 2, in_c, out_c, kernel, int(rng.integers(0, kernel)))
        x = rng.integers(-128, 128, (shape.in_h, shape.in_w, in_c)).astype(np.int8)
        w = rng.integers(-32767, 32768, (out_c, shape.taps)).astype(np.int16)
        shift, bias, layer = layer_parts(machine, rng, out_c)
        at_shape = machine.put(shape.packed())
        machine.call("w16a8_conv2d_scratch", at_shape)
        scratch, out = machine.room(machine.result), machine.room(shape.outputs)
        machine.call("w16a8_conv2d", machine.put(x), machine.put(w), at_shape, layer, scratch, out)
        expected = [
            [[output(int(b) + int(cut.reshape(-1) @ row), shift) for row, b in zip(w.astype(int), bias, strict=True)]
             for cut in line]
            for line in windows(shape, x)
        ]  # fmt: skip
        assert (machine.get(out, (shape.out_h, shape.out_w, out_c), np.int8) == expected).all(), shape


def test_fully_connected_with_every_number_of_taps(machine):
    """Every rest of a division by eight groups of four, twice."""
    rng = np.random.default_rng(4)
    for inputs in (*range(1, 70), 400):
        outputs = int(rng.integers(1, 7))
        x = rng.integers(-128, 128, inputs).astype(np.int8)
        w = rng.integers(-32767, 32768, (outputs, inputs)).astype(np.int16)
        shift, bias, layer = layer_parts(machine, rng, outputs)
        machine.call("w16a8_fully_connected_scratch", inputs)
        scratch, out = machine.room(machine.result), machine.room(outputs)
        machine.call("w16a8_fully_connected", machine.put(x), machine.put(w), inputs, outputs, layer, scratch, out)
        sums = w.astype(np.int64) @ (x.astype(np.int64) - Z_X) + bias
        assert machine.get(out, outputs, np.int8).tolist() == [output(acc, shift) for acc in sums], inputs


def test_depthwise(machine):
    rng = np.random.default_rng(5)
    for channels in (1, 2, 4, 7):
        shape = LayerShape(5, 6, channels, channels, 3, 1)
        x = rng.integers(-128, 128, (5, 6, channels)).astype(np.int8)
        w = rng.integers(-32767, 32768, (3, 3, channels)).astype(np.int16)
        shift, bias, layer = layer_parts(machine, rng, channels)
        out = machine.room(shape.outputs)
        machine.call("w16a8_depthwise", machine.put(x), machine.put(w), machine.put(shape.packed()), layer, out)
        expected = [
            [[output(int(b) + int(v), shift) for v, b in zip((cut * w).sum(axis=(0, 1)), bias, strict=True)]
             for cut in line]
            for line in windows(shape, x)
        ]  # fmt: skip
        assert (machine.get(out, (5, 6, channels), np.int8) == expected).all(), channels


def test_moves_of_directions(machine):
    """A perturbation moves by the table's entry for each byte drawn; an update is held in its limit."""
    rng = np.random.default_rng(6)
    upper = np.sort(rng.integers(0, 2000, 128))
    of = np.concatenate([-upper[::-1], upper]).astype(np.int16)
    for n in (1, 2, 3, 4, 5, 100, 1001):
        pool_state, state = (int(each) for each in rng.integers(1, 2**32, 2))
        words, drawn = pool_state, []
        for _ in range(256):
            words = following(words)
            drawn.append(words)
        entries = of[np.array(drawn, "<u4").view(np.uint8).reshape(256, 4)].astype(int)
        d = stream(entries, state, n)
        weights = rng.integers(-30000, 30001, n).astype(np.int16)
        at, moves = machine.put(weights), machine.put(struct.pack("<IB3xi", machine.room(4096), 0, 0))
        machine.call("direction_to_perturb", moves, pool_state, machine.put(of))
        machine.call("direction_move_s16", at, n, state, moves)
        assert (machine.get(at, n, np.int16) == weights + d).all(), n
        machine.call("direction_to_update", moves, pool_state, machine.put(-of), 29000)
        machine.call("direction_move_s16", at, n, state, moves)
        assert (machine.get(at, n, np.int16) == np.clip(weights, -29000, 29000)).all(), n
