"""Drawn layers of affine8 and their products in wide integers (docs/arithmetic-affine8.md, 2 to 4), for any core."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np


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
    (kh, kw), (out_h, out_w), (sh, sw), (ph, pw) = window.kernel, window.out, window.stride, window.padding
    padded = np.pad(values.astype(np.int64) - zero, ((ph, kh + sh), (pw, kw + sw), (0, 0)))
    return np.array([[padded[y * sh : y * sh + kh, x * sw : x * sw + kw] for x in range(out_w)] for y in range(out_h)])


def spread(products, window, size):
    """The sum of what each output gives to its window, [out_h, out_w, kh, kw, c], without the padding."""
    (kh, kw), (out_h, out_w), (sh, sw), (ph, pw) = window.kernel, window.out, window.stride, window.padding
    h, w = size
    total = np.zeros((ph + h + kh + sh, pw + w + kw + sw, products.shape[-1]), np.int64)
    for y in range(out_h):
        for x in range(out_w):
            total[y * sh : y * sh + kh, x * sw : x * sw + kw] += products[y, x]
    return total[ph : ph + h, pw : pw + w]


def wrapped(sums):
    return sums.astype(np.int64).astype(np.int32)


def forward_scratch(kind, size, window, channels):
    """Bytes of scratch of a forward pass: docs/memory.md; depthwise: docs/arithmetic-fqt.md, section 10."""
    (kh, kw), (oh, ow), (sh, sw) = window.kernel, window.out, window.stride
    if kind == "pointwise":
        block = min(max(2048 // channels // 2 * 2, 16), 64)
        return 8 * channels + 24 + 8 * block + 2 * block * channels
    if kind == "depthwise":
        return 2 * (((oh - 1) * sh + kh) * ((ow - 1) * sw + kw) + kh * kw) + 8
    taps = kh * kw * channels
    rows = min(oh, (max(3072 // taps, 16) + ow - 1) // ow)
    pitch = (((ow - 1) * sw + kw) * channels + 1) // 2 * 2
    return 8 * taps + 24 + 8 * rows * ow + 2 * ((rows - 1) * min(sh, kh) + kh) * pitch


def backward_scratch(kind, size, window, channels):
    """Bytes of scratch of a weight gradient, and of an input error: docs/memory.md."""
    (kh, kw), (oh, ow), (sh, sw) = window.kernel, window.out, window.stride
    if kind == "depthwise":
        gradient = (oh + (kh - 1) // sh) * (ow + (kw - 1) // sw) + 8 + oh * ow
        axes = zip(size, window.kernel, window.stride, strict=True)
        height, width = ((side - 1) // s + 1 + (k - 1) // s for side, k, s in axes)
        return gradient, height * width + 8 + kh * kw
    return 32 * kh * kw * channels, 4 * kh * kw * channels


class Layer:
    """A drawn layer on a core that has `put`, `room`, `get` and `call`; each buffer has its size of the memory plan."""

    def __init__(self, machine, rng, size, window, channels, outputs, kind):
        self.machine, self.rng, self.window, self.size, self.kind = machine, rng, window, size, kind
        depthwise = self.depthwise = kind == "depthwise"
        self.outputs = channels if depthwise else outputs
        self.x_zero, self.w_zero, self.e_zero = zero_points(rng, 3)
        self.x = end_or_any(rng, (*size, channels))
        self.w = end_or_any(rng, (*window.kernel, channels) if depthwise else (outputs, *window.kernel, channels))
        sizes = (*size, channels, *window.out, self.outputs, *window.kernel, *window.stride, *window.padding)
        self.shape = machine.put(struct.pack("<6H6B", *sizes))
        self.kept = kept_of(rng, self.outputs)
        error = errors_of(rng, self.e_zero, (*window.out, self.outputs))
        packed = error if depthwise else error[..., self.kept]
        places = machine.put(np.ascontiguousarray(packed)), self.e_zero, machine.put(self.kept), len(self.kept)
        self.errors = machine.put(struct.pack("<Ib3xII", *places))
        self.e = error[..., self.kept].astype(np.int64) - self.e_zero

    @property
    def wide(self):
        return self.w.astype(np.int64) - self.w_zero

    def scratch(self, size):
        """Pointwise needs none in its backward passes."""
        return () if self.kind == "pointwise" else (self.machine.room(size),)

    def check(self):
        """Compare the three kernels with their definitions."""
        self.check_forward()
        gradient, spread = backward_scratch(self.kind, self.size, self.window, self.x.shape[-1])
        self.check_weight_gradient(self.scratch(gradient))
        self.check_input_error(self.scratch(spread))

    def check_forward(self):
        machine, rng, taps = self.machine, self.rng, self.w.size // self.outputs
        form = "yxijc,ijc->yxc" if self.depthwise else "yxijc,oijc->yxo"
        sums = np.einsum(form, cut(self.x, self.x_zero, self.window), self.wide)
        bias, (zero,) = rng.integers(-5000, 5000, self.outputs), zero_points(rng, 1)
        folded = bias - self.x_zero * self.wide.sum(axis=(0, 1) if self.depthwise else (1, 2, 3))
        least, most = (-128, 127) if rng.random() < 0.5 else sorted(rng.integers(-128, 128, 2).tolist())
        factor = factor_for(rng, taps)
        fields = self.x_zero, self.w_zero, zero, least, most, factor.m, factor.n, factor.floors
        layer = machine.put(struct.pack("<5bxHB?xxI", *fields, machine.put(wrapped(folded))))
        scratch = machine.room(forward_scratch(self.kind, self.size, self.window, self.x.shape[-1]))
        out, name = machine.room(sums.size), f"affine8_{self.kind}"
        machine.call(name, machine.put(self.x), machine.put(self.w), self.shape, layer, scratch, out)
        expected = np.clip(factor(sums + bias) + zero, least, most)
        assert (machine.get(out, sums.shape, np.int8) == expected).all(), (name, self.size, self.window)

    def check_weight_gradient(self, scratch):
        seen, form = cut(self.x, self.x_zero, self.window), "yxijc,yxo->oijc"
        if self.depthwise:
            seen, form = seen[..., self.kept], "yxijc,yxc->ijc"
        sums = np.einsum(form, seen, self.e)
        before = self.rng.integers(-(2**31), 2**31, sums.shape)
        gradient, name = self.machine.put(wrapped(before)), f"affine8_{self.kind}_weight_gradient"
        self.machine.call(name, self.machine.put(self.x), self.errors, self.shape, self.x_zero, *scratch, gradient)
        found = self.machine.get(gradient, sums.shape, np.int32)
        assert (found == wrapped(before + sums)).all(), (name, self.size, self.window)

    def check_input_error(self, scratch):
        if self.depthwise:
            products = np.zeros((*self.window.out, *self.w.shape), np.int64)
            products[..., self.kept] = self.wide[..., self.kept] * self.e[:, :, None, None]
        else:
            products = np.einsum("oijc,yxo->yxijc", self.wide[self.kept], self.e)
        expected, back = spread(products, self.window, self.size), self.machine.room(4 * self.x.size)
        name = f"affine8_{self.kind}_input_error"
        self.machine.call(name, self.errors, self.machine.put(self.w), self.w_zero, self.shape, *scratch, back)
        found = self.machine.get(back, expected.shape, np.int32)
        assert (found == expected).all(), (name, self.size, self.window)
