"""The kernels of the committed images, called one by one on the virtual core, against NumPy in wide integers."""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import pytest

from hil.errors import RigError
from hil.training.benchmarks import kernels
from hil.training.benchmarks.kernels.cases import CORES, cases
from hil.training.benchmarks.kernels.shapes import LayerShape
from hil.training.reference.arith import psto_shift

pytest.importorskip("unicorn", reason="the virtual core needs the extra `virtual`")

SCRATCH = 1 << 16


@pytest.fixture
def rng(request):
    return np.random.default_rng(sum(request.node.name.encode()))


def bytes_of(rng, *shape):
    """Mostly ordinary values; the extreme ones come often enough to meet."""
    values = rng.integers(-127, 128, shape)
    return np.where(rng.random(shape) < 0.1, rng.choice([-127, 127], shape), values).astype(np.int8)


def windows(shape, x):
    """The input of every output, padded with zeros: [out_h, out_w, taps]."""
    p, k = shape.padding, shape.kernel
    padded = np.pad(x.astype(np.int64), ((p, p), (p, p), (0, 0)))
    rows = [[padded[y : y + k, c : c + k].reshape(-1) for c in range(shape.out_w)] for y in range(shape.out_h)]
    return np.array(rows)


def shapes(rng):
    """Every small kernel, padding and number of channels that the kernels treat apart, and some by chance."""
    for kernel in (1, 2, 3, 4, 5):
        for channels in (1, 2, 3, 4, 5, 6, 8):
            outputs, size = int(rng.integers(1, 10)), kernel + int(rng.integers(0, 4))
            yield LayerShape(
                size, size + int(rng.integers(0, 3)), channels, outputs, kernel, int(rng.integers(0, kernel))
            )


LONG = LayerShape(28, 28, 1, 6, 5, 2), LayerShape(3, 140, 3, 5, 3, 1), LayerShape(9, 11, 4, 7, 3, 1)


@pytest.mark.parametrize("share", [1.0, 0.6, 0.2])
def test_conv2d_and_its_gradients(machine, rng, share):
    """`share`: of errors that are not 0. A kernel may choose its way by that."""
    for shape in (*shapes(rng), *LONG):
        x = bytes_of(rng, shape.in_h, shape.in_w, shape.in_c)
        w, error = bytes_of(rng, shape.out_c, shape.taps), bytes_of(rng, shape.out_h, shape.out_w, shape.out_c)
        error[rng.random(error.shape) >= share] = 0
        cut = windows(shape, x)
        layer, scratch = machine.put(shape.packed()), machine.room(SCRATCH)
        at_x, at_w, at_error = machine.put(x), machine.put(w), machine.put(error)
        acc, gradient = machine.room(4 * shape.outputs), machine.put(np.zeros(w.size, np.int32))
        machine.call("conv2d_s8", at_x, at_w, layer, scratch, acc)
        expected = cut @ w.astype(np.int64).T
        assert (machine.get(acc, expected.shape, np.int32) == expected).all(), shape
        machine.call("conv2d_s8_weight_gradient", at_x, at_error, layer, 0, scratch, gradient)
        expected = np.tensordot(error.astype(np.int64), cut, ((0, 1), (0, 1)))
        assert (machine.get(gradient, expected.shape, np.int32) == expected).all(), shape
        back = machine.room(4 * shape.inputs)
        machine.call("conv2d_s8_input_error", at_error, at_w, layer, back)
        assert (machine.get(back, x.shape, np.int32) == transposed(shape, w, error)).all(), shape


def transposed(shape, weights, error):
    """The error of the input: every product to the tap that it came from; the padding is dropped."""
    p, k = shape.padding, shape.kernel
    total = np.zeros((shape.in_h + 2 * p, shape.in_w + 2 * p, shape.in_c), np.int64)
    taps = weights.reshape(shape.out_c, k, k, shape.in_c).astype(np.int64)
    for y in range(shape.out_h):
        for x in range(shape.out_w):
            total[y : y + k, x : x + k] += np.tensordot(error[y, x].astype(np.int64), taps, 1)
    return total[p : p + shape.in_h, p : p + shape.in_w]


@pytest.mark.parametrize("inputs", [1, 2, 3, 4, 5, 7, 8, 9, 31, 64, 84])
@pytest.mark.parametrize("outputs", [1, 2, 3, 4, 5, 10])
def test_fully_connected_and_its_gradients(machine, rng, inputs, outputs):
    x, w, error = bytes_of(rng, inputs), bytes_of(rng, outputs, inputs), bytes_of(rng, outputs)
    at_x, at_w, at_error = machine.put(x), machine.put(w), machine.put(error)
    acc, back = machine.room(4 * outputs), machine.room(4 * inputs)
    gradient = machine.put(np.zeros(w.size, np.int32))
    machine.call("fully_connected_s8", at_x, at_w, inputs, outputs, acc)
    machine.call("fully_connected_s8_weight_gradient", at_x, at_error, inputs, outputs, 0, gradient)
    machine.call("fully_connected_s8_input_error", at_error, at_w, inputs, outputs, back)
    wide = w.astype(np.int64)
    assert (machine.get(acc, outputs, np.int32) == wide @ x).all()
    assert (machine.get(gradient, w.shape, np.int32) == np.outer(error.astype(np.int64), x)).all()
    assert (machine.get(back, inputs, np.int32) == error @ wide).all()


@pytest.mark.parametrize("bits", [0, 1, 6, 7, 8, 9, 15, 24, 30])
def test_requantize_rounds_half_away_from_zero(machine, rng, bits):
    acc = rng.integers(-(2**bits) + 1, 2**bits, 257).astype(np.int32)
    acc[:3] = (2**bits - 1, -(2**bits) + 1, 1 << max(bits - 8, 0))
    out = machine.room(acc.size)
    machine.call("requantize_s8", machine.put(acc), acc.size, out)
    shift = max(int(np.abs(acc).max()).bit_length() - 7, 0)
    exact = np.sign(acc) * ((np.abs(acc.astype(np.int64)) + (1 << shift >> 1)) >> shift)
    assert (machine.result == shift) and (machine.get(out, acc.size, np.int8) == np.clip(exact, -127, 127)).all()


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("channels", [1, 3, 4, 5, 6, 8, 11])
def test_errors_go_to_the_first_maximum(machine, rng, k, channels):
    height, width = (k * int(rng.integers(1, 5)) + int(rng.integers(0, k)) for _ in range(2))
    for values in (127, 1):  # ones and zeros: many equal maxima
        x = rng.integers(-values, values + 1, (height, width, channels)).astype(np.int8)
        error = bytes_of(rng, height // k, width // k, channels)
        expected = np.zeros(x.shape, np.int8)
        for y, column, c in np.ndindex(*error.shape):
            window = x[y * k : y * k + k, column * k : column * k + k, c]
            ky, kx = np.unravel_index(window.argmax(), window.shape)
            expected[y * k + ky, column * k + kx, c] = error[y, column, c]
        sizes = *x.shape, *error.shape
        layer, found = machine.put(struct.pack("<6H6B", *sizes, k, k, 0, 0, 0, 0)), machine.room(x.size)
        machine.call("max_pool_s8_backward", machine.put(x), machine.put(error), layer, found)
        assert (machine.get(found, x.shape, np.int8) == expected).all(), (x.shape, values)


@pytest.mark.parametrize("b_bp", [1, 2, 4, 7])
@pytest.mark.parametrize("bits", [1, 2, 3, 7, 8, 9, 10, 17, 18, 30, 31, 32])
def test_update_by_a_gradient_of_any_length(machine, rng, bits, b_bp):
    """Of 32 bits there is one magnitude, that of the smallest int32."""
    bound = 2**bits - 1 if bits < 32 else 2**31
    size = int(rng.integers(1, 400))
    gradient = rng.integers(-bound, bound, size) >> rng.integers(0, bits, size)
    gradient[int(rng.integers(0, size))] = -bound
    gradient[int(rng.integers(0, size))] = -bound + int(rng.integers(0, 2))
    weights = bytes_of(rng, size)
    s = int(np.abs(gradient).max()).bit_length() - b_bp
    at = machine.put(weights)
    machine.call("bp_update_s8", at, machine.put(gradient.astype(np.int32)), size, b_bp)
    expected = np.clip(weights - (gradient if s < 1 else psto_shift(gradient, s)), -127, 127)
    assert (machine.get(at, size, np.int8) == expected).all(), s


def test_a_call_counts_what_is_executed(machine):
    """relu_s8 of no values costs a few instructions, and each value more."""
    few, many = (machine.call("relu_s8", machine.put(np.zeros(n, np.int8)), n) for n in (4, 1004))
    assert 0 < few < 100 and 0.2 * 1000 < many - few < 12 * 1000


def test_a_function_that_is_not_there_is_named(machine):
    with pytest.raises(KeyError, match="conv3d_s8"):
        machine.call("conv3d_s8")


def test_every_row_of_the_issue_is_counted_on_every_core():
    names = {(case.kernel, case.shape) for case in cases()}
    kernels_named = {kernel for kernel, _ in names}
    assert len(names) == 113
    assert {"forward", "digest", "tflite_depthwise_s8", "signed_sums_s32", "affine8_conv2d"} < kernels_named
    assert all(set(case.goal) == set(CORES) and case.macs > 0 for case in cases())
    assert kernels.KernelRow.__match_args__ == (
        "kernel", "shape", "core", "macs", "instructions", "instructions_per_mac", "goal",
    )  # fmt: skip


def test_a_kernel_that_returns_early_is_no_row():
    """A structure packed in an old order once gave 85 instructions for 36,864 weights, and a row within its goal."""
    idle = replace(next(cases()), run=lambda machine: 85)
    with pytest.raises(RigError, match=r"85 instructions for 65536 MACs.*compare the arguments"):
        kernels.row_of(idle, "cortex-m7")
