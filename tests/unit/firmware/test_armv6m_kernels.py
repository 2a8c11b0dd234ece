"""Every kernel that Armv6-M has of its own, as built for Cortex-M0+, against NumPy: all small shapes and drawn ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
import xxhash
from armv6m import Kernels, build_kernels


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    """Return the kernels built for Cortex-M0+."""
    return Kernels(build_kernels(tmp_path_factory.mktemp("armv6m")))


@dataclass(frozen=True)
class Convolution:
    """A shape of conv2d: height, width and channels of the input, channels of the output, kernel, padding."""

    h: int
    w: int
    c: int
    o: int
    kh: int
    kw: int
    pad: int

    @property
    def out(self) -> tuple[int, int, int]:
        """Height, width, channels of the output."""
        return self.h + 2 * self.pad - self.kh + 1, self.w + 2 * self.pad - self.kw + 1, self.o

    @property
    def struct(self) -> np.ndarray:
        """layer_shape_t of firmware/kernels/shapes.h."""
        sizes = np.array([self.h, self.w, self.c, *self.out], np.uint16)
        return np.frombuffer(sizes.tobytes() + bytes([self.kh, self.kw, 0, 0, self.pad, self.pad]), np.uint8)

    @property
    def scratch(self) -> np.ndarray:
        """The scratch of docs/memory.md."""
        padded = (self.h + 2 * self.pad) * (self.w + 2 * self.pad) * self.c + 64
        return np.full(max(padded, 8 * self.kh * self.kw * self.c + 16), 0x5A, np.int8)

    def windows(self, x: np.ndarray) -> np.ndarray:
        """The padded inputs under each window: [out_h, out_w, c, kh, kw], int64."""
        padded = np.pad(x.astype(np.int64), ((self.pad, self.pad), (self.pad, self.pad), (0, 0)))
        return np.lib.stride_tricks.sliding_window_view(padded, (self.kh, self.kw), (0, 1))

    def input_error(self, e: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The transposed convolution by its definition: [h, w, c], int64."""
        spread = np.zeros((self.h + 2 * self.pad, self.w + 2 * self.pad, self.c), np.int64)
        for y, x in itertools.product(range(self.out[0]), range(self.out[1])):
            spread[y : y + self.kh, x : x + self.kw] += np.einsum("o,oijc->ijc", e[y, x].astype(np.int64), w)
        return spread[self.pad : self.pad + self.h, self.pad : self.pad + self.w]


def small_shapes() -> Iterator[Convolution]:
    """All shapes with sizes 1 and 2, kernels and padding that fit, and some with 3."""
    for h, w, c, o, pad in itertools.product((1, 2), (1, 2, 3), (1, 2), (1, 2), (0, 1)):
        for kh, kw in itertools.product(range(pad + 1, h + 2 * pad + 1), range(pad + 1, w + 2 * pad + 1)):
            yield Convolution(h, w, c, o, kh, kw, pad)


def drawn_shapes(rng: np.random.Generator, count: int) -> Iterator[Convolution]:
    """Shapes of up to 7 x 7 x 9 with up to 9 outputs."""
    for _ in range(count):
        h, w, c, o = (int(v) for v in rng.integers(1, (8, 8, 10, 10)))
        pad = int(rng.integers(0, 3))
        kh, kw = (int(rng.integers(pad + 1, min(size + 2 * pad, 6) + 1)) for size in (h, w))
        yield Convolution(h, w, c, o, kh, kw, pad)


def values(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Draw int8 values: all that there are, only the largest magnitudes, or with many zeros."""
    kind = rng.integers(0, 4)
    if kind == 0:
        return rng.choice(np.array([-127, 127], np.int8), shape)
    x = rng.integers(-127, 128, shape).astype(np.int8)
    return x if kind == 1 else np.where(rng.random(shape) < (0.5, 0.95)[kind - 2], np.int8(0), x)


def convolutions(seed: int) -> Iterator[tuple[np.random.Generator, Convolution]]:
    """Small and drawn shapes."""
    rng = np.random.default_rng(seed)
    for shape in itertools.chain(small_shapes(), drawn_shapes(rng, 60), [Convolution(4, 4, 16, 16, 1, 1, 0)]):
        yield rng, shape


def test_conv2d(kernels: Kernels) -> None:
    for rng, s in convolutions(1):
        kernels.forget()
        x, w = values(rng, s.h, s.w, s.c), values(rng, s.o, s.kh, s.kw, s.c)
        acc = np.full(s.out, 0x5A5A5A5A, np.int32)
        at = kernels.place(acc)
        places = [
            kernels.place(x, int(rng.integers(4))),
            kernels.place(w, int(rng.integers(4))),
            kernels.place(s.struct),
        ]
        kernels.call("conv2d_s8", *places, kernels.place(s.scratch), at)
        assert np.array_equal(kernels.read(at, acc), np.einsum("yxcij,oijc->yxo", s.windows(x), w.astype(np.int64))), s


def test_fully_connected(kernels: Kernels) -> None:
    rng = np.random.default_rng(2)
    sizes = [*itertools.product((1, 2, 3, 8, 9), (1, 2, 3, 4, 5, 8)), (112, 4), (113, 5), (230, 9), (784, 10)]
    for inputs, outputs in sizes:
        kernels.forget()
        x, w, acc = values(rng, inputs), values(rng, outputs, inputs), np.full(outputs, 0x5A5A5A5A, np.int32)
        at = kernels.place(acc)
        kernels.call("fully_connected_s8", kernels.place(x, 1), kernels.place(w, 3), inputs, outputs, at)
        assert np.array_equal(kernels.read(at, acc), w.astype(np.int64) @ x), (inputs, outputs)


def gathered(gradient: np.ndarray, sums: np.ndarray, shift: int) -> np.ndarray:
    """sat32(gradient + trunc(sums / 2^shift)): docs/arithmetic.md, section 7."""
    added = np.sign(sums) * (np.abs(sums) >> min(shift, 40))
    return np.clip(gradient + added, -(2**31), 2**31 - 1).astype(np.int32)


def test_conv2d_weight_gradient(kernels: Kernels) -> None:
    for rng, s in itertools.chain(convolutions(3), [(np.random.default_rng(3), Convolution(3, 5, 70, 2, 1, 2, 0))]):
        kernels.forget()
        x, e, shift = values(rng, s.h, s.w, s.c), values(rng, *s.out), int(rng.integers(0, 9))
        gradient = rng.integers(-(2**31) + 1, 2**31, (s.o, s.kh, s.kw, s.c)).astype(np.int32)
        at = kernels.place(gradient)
        places = [kernels.place(x, 1), kernels.place(e, 3), kernels.place(s.struct)]
        kernels.call("conv2d_s8_weight_gradient", *places, shift, kernels.place(s.scratch), at)
        sums = np.einsum("yxcij,yxo->oijc", s.windows(x), e.astype(np.int64))
        assert np.array_equal(kernels.read(at, gradient), gathered(gradient, sums, shift)), s


def test_conv2d_input_error(kernels: Kernels) -> None:
    for rng, s in itertools.chain(convolutions(4), [(np.random.default_rng(4), Convolution(2, 3, 3, 130, 2, 2, 1))]):
        kernels.forget()
        w, e, acc = (
            values(rng, s.o, s.kh, s.kw, s.c),
            values(rng, *s.out),
            np.full((s.h, s.w, s.c), 0x5A5A5A5A, np.int32),
        )
        at = kernels.place(acc)
        kernels.call("conv2d_s8_input_error", kernels.place(e, 1), kernels.place(w, 3), kernels.place(s.struct), at)
        assert np.array_equal(kernels.read(at, acc), s.input_error(e, w)), s


@pytest.mark.parametrize("inputs", [1, 2, 3, 4, 5, 7, 9, 112, 113, 230])
def test_fully_connected_backward(kernels: Kernels, inputs: int) -> None:
    rng = np.random.default_rng(inputs)
    for outputs, shift in itertools.product((1, 2, 3, 8, 9, 120), (0, 1, 3, 13, 14, 31, 40)):
        kernels.forget()
        x, w, e = values(rng, inputs), values(rng, outputs, inputs), values(rng, outputs)
        acc, gradient = (
            np.full(inputs, 0x5A5A5A5A, np.int32),
            rng.integers(-(2**30), 2**30, (outputs, inputs)).astype(np.int32),
        )
        at, to = kernels.place(acc), kernels.place(gradient)
        kernels.call("fully_connected_s8_input_error", kernels.place(e, 1), kernels.place(w, 3), inputs, outputs, at)
        assert np.array_equal(kernels.read(at, acc), w.astype(np.int64).T @ e), (inputs, outputs)
        kernels.call(
            "fully_connected_s8_weight_gradient", kernels.place(x, 1), kernels.place(e, 3), inputs, outputs, shift, to
        )
        expected = gathered(gradient, np.outer(e.astype(np.int64), x), shift)
        assert np.array_equal(kernels.read(to, gradient), expected), (inputs, outputs, shift)


@pytest.mark.parametrize("length", range(1, 31))
def test_requantize(kernels: Kernels, length: int) -> None:
    """Sums of every length in bits, with the largest on both sides of where it is clipped."""
    rng = np.random.default_rng(length)
    edge = 2**length - 2 ** max(length - 8, 0)
    for n, largest in itertools.product(
        (1, 5, 6, 7, 12, 40), (2**length - 1, -(2 ** (length - 1)), edge, edge - 1, -edge, 1 - edge)
    ):
        kernels.forget()
        acc = rng.integers(-abs(largest), abs(largest) + 1, n).astype(np.int32)
        acc[rng.integers(n)] = largest
        out = np.full(n, 0x5A, np.int8)
        at = kernels.place(out, 1)
        s = int(np.abs(acc.astype(np.int64)).max()).bit_length() - 7
        assert kernels.call("requantize_s8", kernels.place(acc), n, at) == max(s, 0)
        wide = np.abs(acc.astype(np.int64))
        rounded = np.minimum((wide + 2 ** (s - 1)) >> s, 127) if s > 0 else wide
        assert np.array_equal(kernels.read(at, out), np.sign(acc) * rounded), (n, largest)


def xorshift(x: int) -> int:
    """xorshift32 of docs/arithmetic.md, section 8."""
    x ^= x << 13 & 0xFFFF_FFFF
    x ^= x >> 17
    return x ^ (x << 5 & 0xFFFF_FFFF)


def noise(n: int, pool_state: int, state: int, p_zero: int, r_max: int) -> np.ndarray:
    """The `n` values z of a stream, from the pool that begins with a state: docs/arithmetic.md, section 8."""
    pool = []
    for _ in range(256):
        a = xorshift(pool_state)
        pool_state = xorshift(a)
        for below, b in zip(a.to_bytes(4, "little"), pool_state.to_bytes(4, "little"), strict=True):
            pool.append(0 if below < p_zero else (b * (2 * r_max + 1) + r_max >> 8) - r_max)
    z = []
    for group in range(-(-n // 4)):
        if group % 3 == 0:
            state = xorshift(state)
        field = state >> 9 * (group % 3) & 511
        z += [number if field < 256 else -number for number in pool[4 * (field % 256) :][:4]]
    return np.array(z[:n], np.int64)


def psto_shift(x: np.ndarray, s: int) -> np.ndarray:
    """PstoShift of docs/arithmetic.md, section 2, for s >= 1."""
    q, p, h = np.abs(x) >> s, np.abs(x) & (1 << s) - 1, s // 2
    up = p >> h > (p & (1 << h) - 1) << s % 2
    return np.sign(x) * np.minimum(q + up, 127)


MOVES = np.zeros(1024, np.uint32)  # the words of moves_t, firmware/kernels/perturbation.h


def weights(rng: np.random.Generator, n: int, limit: int) -> np.ndarray:
    """Draw weights at rest, half of them where they saturate or change their sign."""
    edges = np.clip([-127, -126, -124, -64, -2, -1, 0, 1, 2, 63, 125, 127], -limit, limit)
    return np.where(rng.random(n) < 0.5, rng.choice(edges, n), rng.integers(-limit, limit + 1, n))


@pytest.mark.parametrize(("r_max", "exact"), [(7, False), (7, True), (63, True), (64, False), (127, False)])
def test_passes_over_weights(kernels: Kernels, r_max: int, exact: bool) -> None:
    """All passes of a step, and every way to update (tests/unit/benchmarks calls the committed image with more)."""
    rng = np.random.default_rng(2 * r_max + exact)
    limit = 127 - r_max if exact else 127
    for n, p_zero in ((1, 0), (5, 84), (23, 0), (24, 1), (25, 255), (48, 0), (211, 84)):
        states = [int(state) for state in rng.integers(1, 2**32, 2)]
        z, noise_t = noise(n, *states, p_zero, r_max), (p_zero | r_max << 8, states[0])
        w = weights(rng, n, limit)

        def step(
            w: np.ndarray, make: str, *settings: int, states: list[int] = states, noise_t: tuple = noise_t
        ) -> np.ndarray:
            kernels.forget()
            tensor = w.astype(np.int8)
            words = kernels.place(MOVES)
            moves, at = kernels.place(np.array([words, 0], np.uint32)), kernels.place(tensor)
            kernels.call(make, moves, *noise_t, *settings, limit)
            kernels.call("move_s8", at, w.size, states[1], moves)
            return kernels.read(at, tensor).astype(np.int64)

        plus = step(w, "moves_to_perturb", 1)
        assert np.array_equal(plus, np.clip(w + z, -127, 127)), (n, p_zero)
        minus = step(plus, "moves_to_perturb", -2)
        assert np.array_equal(minus, np.clip(plus - 2 * z, -127, 127)), (n, p_zero)
        for sign, b_zo in itertools.product((-1, 0, 1), (1, 7)):
            s = r_max.bit_length() - b_zo
            u = sign * z if s < 1 else psto_shift(sign * z, s)
            expected = np.clip(np.clip(minus + z, -limit, limit) - u, -limit, limit)
            assert np.array_equal(step(minus, "moves_to_update", sign, b_zo), expected), (n, p_zero, sign, b_zo)


@pytest.mark.parametrize("offset", [0, 1])
def test_digest(kernels: Kernels, offset: int) -> None:
    for n in (0, 1, 15, 16, 17, 31, 32, 300):
        kernels.forget()
        data = np.random.default_rng(n).integers(0, 256, n).astype(np.uint8)
        digest = kernels.call("xxh32", kernels.place(data, offset), n, 0) & 0xFFFF_FFFF
        assert digest == xxhash.xxh32_intdigest(data.tobytes()), n


def test_max_pool_and_relu(kernels: Kernels) -> None:
    rng = np.random.default_rng(5)
    for k, h, w, c in itertools.product((1, 2, 3), (3, 4, 7), (3, 6), (1, 2, 5)):
        kernels.forget()
        x = values(rng, h, w, c)
        out = np.full((h // k, w // k, c), 0x5A, np.int8)
        shape = np.frombuffer(np.array([h, w, c, *out.shape], np.uint16).tobytes() + bytes([k, k, 0, 0]), np.uint8)
        at = kernels.place(out, 3)
        kernels.call("max_pool_s8", kernels.place(x, 1), kernels.place(shape), at)
        windows = x[: h // k * k, : w // k * k].reshape(h // k, k, w // k, k, c)
        assert np.array_equal(kernels.read(at, out), windows.max((1, 3))), (k, h, w, c)
        for offset, n in itertools.product(range(4), range(1, 12)):
            v = values(rng, n)
            at = kernels.place(v, offset)
            kernels.call("relu_s8", at, n)
            assert np.array_equal(kernels.read(at, v), np.maximum(v, 0)), (offset, n)


def test_w16a8_rows(kernels: Kernels) -> None:
    """Vectors of inputs times rows of int16 weights, also longer than 32 bits hold (docs/arithmetic-w16a8.md)."""
    multiplier, shift, zero, least, most = 1_518_500_250, -20, 3, -100, 127
    for taps, channels, count in ((1, 1, 1), (2, 3, 2), (5, 4, 2), (7, 9, 1), (96, 35, 2), (256, 6, 1), (603, 34, 2)):
        kernels.forget()
        rng = np.random.default_rng(taps)
        x = rng.integers(-255, 256, (count, (taps + 1) // 2 * 2)).astype(np.int16)
        w = rng.integers(-32767, 32768, (channels, taps)).astype(np.int16)
        bias = rng.integers(-(2**30), 2**30, channels).astype(np.int32)
        out = np.full((count, channels), 0x5A, np.int8)
        limits = np.array([0, zero, least, most], np.int8).tobytes()
        layer = np.frombuffer(limits + np.array([multiplier, shift, kernels.place(bias)], np.int32).tobytes(), np.uint8)
        at = kernels.place(out)
        places = kernels.place(x), count, kernels.place(w), taps, channels, kernels.place(layer)
        kernels.call("w16a8_rows", *places, at)
        sums = np.clip(x[:, :taps].astype(np.int64) @ w.T.astype(np.int64) + bias, -(2**31), 2**31 - 1)
        scaled = (sums * multiplier + 2 ** (30 - shift) >> 31 - shift) + zero
        assert np.array_equal(kernels.read(at, out), np.clip(scaled, least, most)), (taps, channels, count)
