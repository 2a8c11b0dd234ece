"""The kernels of affine8 in the committed images, against NumPy in wide integers (docs/arithmetic-affine8.md, 2 to 4)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import pytest

from benchmarks.tflite_layers import windows
from tests.oracle.tflite_layers import Window

pytest.importorskip("unicorn", reason="the virtual core needs the extra `virtual`")

SCRATCH = 1 << 16
CHANNELS = (1, 2, 3, 4, 7, 16)


@dataclass(frozen=True)
class Factor:
    """affine8_factor_t: about m * 2^-n."""

    m: int
    n: int
    floors: bool

    def __call__(self, acc):
        """R, in exact integers."""
        half = 0 if self.floors else 1 << self.n - 1
        return np.asarray((acc.astype(object) * self.m + half) >> self.n)

    @property
    def word(self):
        """The structure, as an argument in a register."""
        return self.m | self.n << 16 | self.floors << 24


def end_or_any(rng, shape):
    """All of int8, or only its ends."""
    return (rng.choice([-128, 127], shape) if rng.random() < 0.3 else rng.integers(-128, 128, shape)).astype(np.int8)


def zero_points(rng, count):
    return [int(rng.choice([-128, 127, rng.integers(-128, 128)])) for _ in range(count)]


def factor_for(rng, taps):
    """One that makes outputs of such sums, or any."""
    n = 22 + int(np.log2(taps) / 2) + int(rng.integers(-1, 2)) if rng.random() < 0.7 else int(rng.integers(16, 47))
    return Factor(int(rng.choice([32768, 65535, rng.integers(32768, 65536)])), n, bool(rng.random() < 0.3))


def kept_of(rng, channels):
    """All channels, some, one, or none."""
    kind = rng.integers(0, 5)
    mask = (np.ones(channels, bool), rng.random(channels) < 0.5, np.arange(channels) == channels // 2)[min(kind, 2)]
    return np.flatnonzero(mask if kind < 4 else np.zeros(channels, bool)).astype(np.uint16)


def errors_of(rng, zero, shape):
    """Errors with many that stand for 0, or with none."""
    error = end_or_any(rng, shape)
    return np.where(rng.random(shape) < rng.choice([0, 0.5, 0.9]), np.int8(zero), error)


def cut(values, zero, window):
    """What each output sees, less the zero point: [out_h, out_w, kh, kw, c], padding as 0."""
    (kh, kw), (out_h, out_w), s = window.kernel, window.out, window.stride
    p = window.padding
    padded = np.pad(values.astype(np.int64) - zero, ((p, kh + s), (p, kw + s), (0, 0)))
    return np.array([[padded[y * s : y * s + kh, x * s : x * s + kw] for x in range(out_w)] for y in range(out_h)])


def spread(products, window, size):
    """The sum of what each output gives to its window, [out_h, out_w, kh, kw, c], without the padding."""
    (kh, kw), (out_h, out_w), s = window.kernel, window.out, window.stride
    p, (h, w) = window.padding, size
    total = np.zeros((p + h + kh + s, p + w + kw + s, products.shape[-1]), np.int64)
    for y in range(out_h):
        for x in range(out_w):
            total[y * s : y * s + kh, x * s : x * s + kw] += products[y, x]
    return total[p : p + h, p : p + w]


def wrapped(sums):
    return sums.astype(np.int64).astype(np.int32)


class Layer:
    """Operands of a layer with drawn zero points, on the core."""

    def __init__(self, machine, rng, size, window, channels, outputs, depthwise):
        self.machine, self.rng, self.window, self.size, self.depthwise = machine, rng, window, size, depthwise
        self.outputs = channels if depthwise else outputs
        self.x_zero, self.w_zero, self.e_zero = zero_points(rng, 3)
        self.x = end_or_any(rng, (*size, channels))
        self.w = end_or_any(rng, (*window.kernel, channels) if depthwise else (outputs, *window.kernel, channels))
        sizes = (*size, channels, *window.out, self.outputs, *window.kernel, window.padding, window.stride)
        self.shape = machine.put(struct.pack("<6H4B", *sizes))
        self.kept = kept_of(rng, self.outputs)
        error = errors_of(rng, self.e_zero, (*window.out, self.outputs))
        packed = error if depthwise else error[..., self.kept]
        places = machine.put(np.ascontiguousarray(packed)), self.e_zero, machine.put(self.kept), len(self.kept)
        self.errors = machine.put(struct.pack("<Ib3xII", *places))
        self.e = error[..., self.kept].astype(np.int64) - self.e_zero

    @property
    def wide(self):
        return self.w.astype(np.int64) - self.w_zero

    def check_forward(self, name):
        machine, rng, taps = self.machine, self.rng, self.w.size // self.outputs
        sums = np.einsum(
            "yxijc,ijc->yxc" if self.depthwise else "yxijc,oijc->yxo", cut(self.x, self.x_zero, self.window), self.wide
        )
        bias, (zero,) = rng.integers(-5000, 5000, self.outputs), zero_points(rng, 1)
        folded = bias - self.x_zero * self.wide.sum(axis=(0, 1) if self.depthwise else (1, 2, 3))
        least, most = (-128, 127) if rng.random() < 0.5 else sorted(rng.integers(-128, 128, 2).tolist())
        factor = factor_for(rng, taps)
        fields = (
            self.x_zero,
            self.w_zero,
            zero,
            least,
            most,
            factor.m,
            factor.n,
            factor.floors,
            machine.put(wrapped(folded)),
        )
        layer, out = machine.put(struct.pack("<5bxHB?xxI", *fields)), machine.room(sums.size)
        arguments = machine.put(self.x), machine.put(self.w), self.shape, layer, machine.room(SCRATCH), out
        machine.call(name, *arguments)
        expected = np.clip(factor(sums + bias) + zero, least, most)
        assert (machine.get(out, sums.shape, np.int8) == expected).all(), (name, self.size, self.window)

    def check_weight_gradient(self, name, scratch):
        seen, form = cut(self.x, self.x_zero, self.window), "yxijc,yxo->oijc"
        if self.depthwise:
            seen, form = seen[..., self.kept], "yxijc,yxc->ijc"
        sums = np.einsum(form, seen, self.e)
        before = self.rng.integers(-(2**31), 2**31, sums.shape)
        gradient = self.machine.put(wrapped(before))
        self.machine.call(name, self.machine.put(self.x), self.errors, self.shape, self.x_zero, *scratch, gradient)
        found = self.machine.get(gradient, sums.shape, np.int32)
        assert (found == wrapped(before + sums)).all(), (name, self.size, self.window)

    def check_input_error(self, name, scratch):
        if self.depthwise:
            products = np.zeros((*self.window.out, *self.w.shape), np.int64)
            products[..., self.kept] = self.wide[..., self.kept] * self.e[:, :, None, None]
        else:
            products = np.einsum("oijc,yxo->yxijc", self.wide[self.kept], self.e)
        expected, back = spread(products, self.window, self.size), self.machine.room(4 * self.x.size)
        self.machine.call(name, self.errors, self.machine.put(self.w), self.w_zero, self.shape, *scratch, back)
        found = self.machine.get(back, expected.shape, np.int32)
        assert (found == expected).all(), (name, self.size, self.window)

    def check(self, kind, scratch):
        self.check_forward(f"affine8_{kind}")
        self.check_weight_gradient(f"affine8_{kind}_weight_gradient", scratch)
        self.check_input_error(f"affine8_{kind}_input_error", scratch)


def shapes(rng):
    """Small windows of any kind, and images of more positions than a kernel takes together."""
    yield from windows(rng)
    for size, kernel in (((13, 11), 3), ((6, 70), 5), ((3, 140), 3), ((1, 300), 1)):
        yield size, Window((kernel, kernel), size, 1, kernel // 2)


@pytest.mark.parametrize("kind", ["conv2d", "depthwise"])
@pytest.mark.parametrize("channels", CHANNELS)
def test_layers_with_windows(machine, kind, channels):
    rng = np.random.default_rng(channels)
    for size, window in shapes(rng):
        outputs = int(rng.integers(1, 10))
        layer = Layer(machine, rng, size, window, channels, outputs, kind == "depthwise")
        layer.check(kind, (machine.room(SCRATCH),))


@pytest.mark.parametrize("channels", [*CHANNELS, 40, 70])
def test_pointwise(machine, channels):
    rng = np.random.default_rng(100 + channels)
    for size in ((1, 1), (2, 3), (5, 7), (9, 16)):
        for outputs in (1, 2, 5, 70):
            Layer(machine, rng, size, Window((1, 1), size, 1, 0), channels, outputs, False).check("pointwise", ())


@pytest.mark.parametrize("inputs", [*range(1, 18), 112, 113, 230, 400])
def test_fully_connected(machine, inputs):
    rng = np.random.default_rng(200 + inputs)
    for outputs in (1, 2, 3, 4, 5, 9, 120):
        layer = Layer(machine, rng, (1, 1), Window((1, 1), (1, 1), 1, 0), inputs, outputs, False)
        w, e, x = layer.wide.reshape(outputs, inputs), layer.e.reshape(-1), layer.x.reshape(-1).astype(np.int64)
        (zero,), factor = zero_points(rng, 1), factor_for(rng, inputs)
        folded = machine.put(wrapped(-layer.x_zero * w.sum(axis=1)))
        fields = layer.x_zero, layer.w_zero, zero, -128, 127, factor.m, factor.n, factor.floors, folded
        at_layer, at_x, at_w = (
            machine.put(struct.pack("<5bxHB?xxI", *fields)),
            machine.put(layer.x),
            machine.put(layer.w),
        )
        out, back, name = machine.room(outputs), machine.room(4 * inputs), "affine8_fully_connected"
        machine.call(name, at_x, at_w, inputs, outputs, at_layer, machine.room(4 * outputs), out)
        expected = np.clip(factor(w @ (x - layer.x_zero)) + zero, -128, 127)
        assert (machine.get(out, outputs, np.int8) == expected).all(), outputs
        before = rng.integers(-(2**31), 2**31, (len(e), inputs))
        gradient = machine.put(wrapped(before))
        machine.call(f"{name}_weight_gradient", at_x, layer.errors, inputs, layer.x_zero, gradient)
        expected = wrapped(before + np.outer(e, x - layer.x_zero))
        assert (machine.get(gradient, before.shape, np.int32) == expected).all(), outputs
        machine.call(f"{name}_input_error", layer.errors, at_w, layer.w_zero, inputs, back)
        assert (machine.get(back, inputs, np.int32) == w[layer.kept].T @ e).all(), outputs


@pytest.mark.parametrize("floors", [False, True])
@pytest.mark.parametrize("n", range(16, 47))
def test_requantize_of_any_sum(machine, n, floors):
    """Ties, sums of any length up to the largest of section 6, and their extent."""
    rng = np.random.default_rng(n)
    for m in (32768, 65535, 43690, 0):
        factor, (zero,) = Factor(m, n, floors), zero_points(rng, 1)
        ties = (2 * np.arange(-30, 30) + 1) << max(n - 16, 0) & 0x3FFF_FFFF
        chance = rng.integers(-2130739200, 2130739201, 200) >> rng.integers(0, 31, 200)
        ends = np.array([-2130739200, 2130739200, -1, 0, 1, 65535, 65536, -65536])
        sums = np.concatenate([ties, -ties, ties + 1, chance, ends])
        at, out, extent = machine.put(wrapped(sums)), machine.room(len(sums)), machine.room(8)
        machine.call("affine8_requantize_s32", at, len(sums), factor.word, zero, out)
        expected = np.clip(factor(sums) + zero, -128, 127)
        assert (machine.get(out, len(sums), np.int8) == expected).all(), (m, zero)
        machine.call("affine8_extent_s32", extent, at, len(sums))
        assert machine.get(extent, 2, np.int32).tolist() == [min(0, sums.min()), max(0, sums.max())]
