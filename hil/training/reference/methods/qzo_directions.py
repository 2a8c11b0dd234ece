"""What QZO-FF makes of its directions: gradients, masks, and the momentum that guides them.

docs/arithmetic-qzo-ff.md, sections 5 and 7. They are the same whatever the format of the weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hil.training.methods.qzo_ff_selection import drawn, top_count
from hil.training.methods.qzo_ff_settings import QzoFfSettings
from hil.training.methods.qzo_ff_tensors import LARGEST_Z

MOMENTUM_OF_STEP = 256  # v of a step of z


def rounded_shift(x: np.ndarray, n: int) -> np.ndarray:
    """Return R(x, n) of signed integers: x / 2^n, half away from zero; n is 1 or more."""
    rounded: np.ndarray = np.sign(x) * ((np.abs(x) + (1 << (n - 1))) >> n)
    return rounded


@dataclass(frozen=True)
class DirectionGradient:
    """The sum of the signed directions of a tensor, and their mean in the numbers of a direction (section 5).

    Attributes:
        total: G, int16 [size].
        mean: g, int16 [size].
        directions: m.
    """

    total: np.ndarray
    mean: np.ndarray
    directions: int

    @classmethod
    def of(cls, signs: list[int], directions: list[np.ndarray]) -> DirectionGradient:
        """Return that of directions int16 [size] with their signs."""
        m = len(signs)
        total = np.zeros(directions[0].shape, np.int16)  # |G| is at most 127 * 127
        for sign, z in zip(signs, directions, strict=True):
            total += np.int16(sign) * z
        return cls(total, np.sign(total) * ((np.abs(total) + np.int16(m // 2)) // np.int16(m)), m)


class Momentum:
    """v of a tensor, in 2^-13."""

    def __init__(self, size: int) -> None:
        self.v = np.zeros(size, np.int32)

    def guided(self, z: np.ndarray, guide: int) -> np.ndarray:
        """Return z moved toward v, int16 [size]; guide is 0..256."""
        moved: np.ndarray = np.clip(z + rounded_shift(self.v * guide, 16), -LARGEST_Z, LARGEST_Z)
        return moved.astype(np.int16)

    def follow(self, g: np.ndarray, smoothing: int, mask: np.ndarray | None) -> None:
        """Take a gradient int16 [size] into v, where the mask selects."""
        by = rounded_shift((g.astype(np.int32) * MOMENTUM_OF_STEP - self.v) * smoothing, 8)
        self.v = self.v + (by if mask is None else by * mask)


def mask_of(magnitudes: np.ndarray, settings: QzoFfSettings, tensor: int, threshold: float) -> np.ndarray:
    """Return which weights of a tensor are updated, bool [size]; `sparse` is not off.

    Args:
        magnitudes: of the weights at rest [size].
        settings: with `sparse`, `keep` and the seed.
        tensor: index among the trained tensors, from 0.
        threshold: in the unit of the magnitudes.
    """
    size = len(magnitudes)
    if settings.sparse == "top":
        largest = np.argsort(-magnitudes, kind="stable")[: top_count(size, settings.keep)]  # of equal ones the first
        selected = np.zeros(size, bool)
        selected[largest] = True
        return selected
    if settings.sparse == "random":
        return drawn(settings, tensor, size)
    return magnitudes >= threshold
