"""Noise of many steps, as a stream is meant to be and with one thing broken; for the statistics of the stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from hil.training.methods import prng


@dataclass(frozen=True)
class Stream:
    """A stream and what may be wrong with it: each field is the identity of a good stream."""

    p_zero: int = 84
    r_max: int = 7
    seed: int = 1
    pool_step: Callable[[int], int] = lambda step: step
    draw_step: Callable[[int], int] = lambda step: step
    tensor: Callable[[int], int] = lambda tensor: tensor
    pool: Callable[[np.ndarray], np.ndarray] = lambda pool: pool
    z: Callable[[np.ndarray], np.ndarray] = lambda z: z

    def entries(self, step: int) -> np.ndarray:
        """Return the signed pool of a step, int16 [512, 4]."""
        return self.pool(prng.signed_pool(self.seed, self.pool_step(step), self.p_zero, self.r_max))

    def drawn(self, step: int, sizes: tuple[int, ...]) -> list[np.ndarray]:
        """Return z of the tensors of a step."""
        pool, at = self.entries(step), self.draw_step(step)
        return [
            self.z(prng.perturbation(pool, self.seed, at, self.tensor(index), size)) for index, size in enumerate(sizes)
        ]

    def broken(self, **changes: object) -> Stream:
        """Return the stream with something wrong."""
        return replace(self, **changes)

    @property
    def values(self) -> np.ndarray:
        """All 65,536 equally likely values of a number of the pool: one for each pair of bytes."""
        mask, value = np.arange(65536) & 0xFF, np.arange(65536) >> 8
        return np.where(mask < self.p_zero, 0, ((value * (2 * self.r_max + 1) + self.r_max) >> 8) - self.r_max)


def without_sign(pool: np.ndarray) -> np.ndarray:
    """Return a pool whose second half is the first one."""
    return np.concatenate([pool[:256], pool[:256]])


def never_negative(pool: np.ndarray) -> np.ndarray:
    """Return a pool of magnitudes."""
    return np.abs(pool)


def quarter(pool: np.ndarray) -> np.ndarray:
    """Return a pool of 64 entries, four times each."""
    return np.concatenate([np.tile(half[:64], (4, 1)) for half in (pool[:256], pool[256:])])


def of_one_word(z: np.ndarray) -> np.ndarray:
    """Return what a generator that stands still makes: every twelve weights the same."""
    return np.resize(z[:12], len(z))


def of_one_number(z: np.ndarray) -> np.ndarray:
    """Return what an entry of one number makes: every four weights the same."""
    return np.repeat(z[::4], 4)[: len(z)]
