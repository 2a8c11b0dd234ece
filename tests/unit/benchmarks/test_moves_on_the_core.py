"""Perturbation and update in the committed images, on the virtual core, against docs/arithmetic.md, sections 8 and 9, in wide integers."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from hil.images.images import kernel_image
from hil.training.benchmarks.kernels.cases import CORES

pytest.importorskip("unicorn", reason="the virtual core needs the extra `virtual`")

from hil.training.benchmarks.kernels.machine import KernelMachine

MOVES = 4 * 1024  # bytes behind moves_t, firmware/kernels/perturbation.h
MANY = 30_001
EDGES = np.array([-127, -126, -124, -64, -2, -1, 0, 1, 2, 63, 125, 127])


def following(x: int) -> int:
    """xorshift32."""
    x ^= x << 13 & 0xFFFF_FFFF
    x ^= x >> 17
    return x ^ (x << 5 & 0xFFFF_FFFF)


def pool(state: int, p_zero: int, r_max: int) -> np.ndarray:
    """The 256 entries of four numbers."""
    words = []
    for _ in range(512):
        state = following(state)
        words.append(state)
    a, b = np.array(words, "<u4").view(np.uint8).astype(np.int64).reshape(256, 2, 4).transpose(1, 0, 2)
    return np.where(a < p_zero, 0, (b * (2 * r_max + 1) + r_max >> 8) - r_max)


def stream(entries: np.ndarray, state: int, n: int) -> np.ndarray:
    """The z of `n` weights."""
    fields = []
    while 4 * len(fields) < n:
        state = following(state)
        fields += [state >> shift & 511 for shift in (0, 9, 18)]
    return np.concatenate([entries, -entries])[fields].reshape(-1)[:n]


def psto_shift(x: np.ndarray, s: int) -> np.ndarray:
    """PstoShift of section 2."""
    if s < 1:
        return x
    q, p, h = np.abs(x) >> s, np.abs(x) % 2**s, s // 2
    hi, lo = p >> h, p % 2**h * (2 if s % 2 else 1)
    return np.sign(x) * (q + (hi > lo))


class Pass:
    """One pass of a step over a tensor, on the core."""

    def __init__(self, core: str, states: tuple[int, int], p_zero: int, r_max: int, limit: int) -> None:
        self._machine = KernelMachine(kernel_image(core), core)
        self._pool, self._stream = (p_zero | r_max << 8, states[0]), states[1]
        self._limit = limit

    def __call__(self, weights: np.ndarray, make: str, *settings: int, count: int = MANY) -> np.ndarray:
        """Return the weights as the moves that `make` makes leave them, given the first `count`."""
        moves = self._machine.put(struct.pack("<II", self._machine.room(MOVES), 0))
        self._machine.call(make, moves, *self._pool, *settings, self._limit)
        at = self._machine.put(weights.astype(np.int8))
        self._machine.call("move_s8", at, count, self._stream, moves)
        return self._machine.get(at, weights.size, np.int8).astype(np.int64)


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize(
    ("r_max", "exact"),
    [*((r, False) for r in (1, 7, 31, 42, 43, 63, 64, 85, 126, 127)), *((r, True) for r in (1, 7, 31, 42, 43, 63))],
)
def test_every_pass_and_every_way_to_update(core: str, r_max: int, exact: bool) -> None:
    """Half of the weights saturate or change their sign, as do their neighbours."""
    rng = np.random.default_rng(2 * r_max + exact)
    limit = 127 - r_max if exact else 127
    states, p_zero = tuple(int(state) for state in rng.integers(1, 2**32, 2)), int(rng.choice([0, 1, 84]))
    z = stream(pool(states[0], p_zero, r_max), states[1], MANY)
    run = Pass(core, states, p_zero, r_max, limit)
    rest = np.where(rng.random(MANY) < 0.5, rng.choice(EDGES, MANY), rng.integers(-127, 128, MANY)).clip(-limit, limit)
    plus = run(rest, "moves_to_perturb", 1)
    assert (plus == np.clip(rest + z, -127, 127)).all()
    minus = run(plus, "moves_to_perturb", -2)
    assert (minus == np.clip(plus - 2 * z, -127, 127)).all()
    for sign in (-1, 0, 1):
        for b_zo in range(1, 8):
            u = psto_shift(sign * z, r_max.bit_length() - b_zo)
            expected = np.clip(np.clip(minus + z, -limit, limit) - u, -limit, limit)
            assert (run(minus, "moves_to_update", sign, b_zo) == expected).all(), (sign, b_zo)


@pytest.mark.parametrize("core", CORES)
def test_any_number_of_weights_and_nothing_behind_them(core: str) -> None:
    rng = np.random.default_rng(3)
    states = 7, 0xFFFF_FFFF
    z = stream(pool(states[0], 84, 15), states[1], 100)
    run = Pass(core, states, 84, 15, 127)
    for n in range(1, 101):
        weights = rng.integers(-127, 128, 112)
        expected = np.concatenate([np.clip(weights[:n] - 2 * z[:n], -127, 127), weights[n:]])
        assert (run(weights, "moves_to_perturb", -2, count=n) == expected).all(), n
