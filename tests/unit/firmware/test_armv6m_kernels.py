"""Every kernel that Armv6-M has of its own, as built for Cortex-M0+, against NumPy: all small shapes and drawn ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
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
        return np.frombuffer(sizes.tobytes() + bytes([self.kh, self.kw, self.pad, 0]), np.uint8)

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
        places = [kernels.place(x, int(rng.integers(4))), kernels.place(w, int(rng.integers(4))), kernels.place(s.struct)]
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
