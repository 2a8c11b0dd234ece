"""A tensor that QZO-FF trains in `w16a8`: perturbation and update in integers (docs/arithmetic-qzo-ff.md, 4 to 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hil.training.methods.directions import FRACTION
from hil.training.methods.qzo_ff_settings import QzoFfSettings
from hil.training.methods.qzo_ff_tensors import (
    LARGEST_Z,
    STEP_OF_Z,
    QzoFfTensor,
    quotient,
    rounded_shift,
    update_steps,
)
from hil.training.reference.floats import F, float32_of

if TYPE_CHECKING:  # the methods are above the formats
    from hil.training.reference.methods.qzo_directions import DirectionGradient

STEPS_OF_Z = [*range(LARGEST_Z + 1), *range(-LARGEST_Z, 0)]  # negative indices count from the end
LARGEST_MOVE = F(2.0**30)


class W16A8Tensor:
    """Weights or biases; `values` are those of the present pass, int32 in the shape of the file.

    What is moved by directions comes back exactly, because nothing is clipped while it is away from rest.
    """

    def __init__(self, known: QzoFfTensor, values: np.ndarray) -> None:
        self.known, self.dtype = known, values.dtype
        self.values = values.astype(np.int32)
        self._wide = np.int64 if known.is_bias else np.int32  # holds a value less an update of 2^30

    @property
    def stored(self) -> np.ndarray:
        """The values as they lie in the network file."""
        return self.values.astype(self.dtype)

    def configure(self, settings: QzoFfSettings) -> None:
        """Take the settings: the moves of every z, and the limit at rest."""
        self._limit = self.known.limit(settings)
        self._moves, self._sharp = (
            np.array([rounded_shift(steps * z, FRACTION) for z in STEPS_OF_Z], np.int32)
            for steps in (self.known.epsilon_steps(settings), self.known.rho_steps(settings))
        )

    def clip(self) -> None:
        """Bring the values to where they may rest."""
        self.values = np.clip(self.values, -self._limit, self._limit)

    def magnitudes(self) -> np.ndarray:
        """Return |w|, flattened."""
        return np.abs(self.values).reshape(-1)

    def threshold(self, settings: QzoFfSettings) -> int:
        """Return the magnitude from which `sparse = threshold` selects."""
        return quotient(settings.threshold, self.known.unit)

    def move_of(self, z: np.ndarray) -> np.ndarray:
        """Return d(z), in the shape of the values, of z int16 [size]."""
        move: np.ndarray = self._moves[z].reshape(self.values.shape)
        return move

    def moved(self, move: np.ndarray, times: int) -> None:
        """Add times * d(z), as `move_of` returns it."""
        self.values = self.values + times * move

    def sharpened(self, z: np.ndarray, sign: int) -> None:
        """Add sign * a of the sharpness-aware perturbation, z int16 [size]."""
        self.values = self.values + (sign * self._sharp[z]).reshape(self.values.shape)

    def squares(self) -> int:
        """Return A, the sum of w * w."""
        w = self.values.reshape(-1).astype(np.int64)
        return int(w @ w)

    def factor(self, squares: int, of_gradient: int) -> np.float32:
        """Return k by normalisation, from A and B."""
        if not squares or not of_gradient:
            return F(0)
        return F(np.sqrt(float32_of(squares) / float32_of(of_gradient)) * self.known.unit)

    def normalisation(self, gradient: DirectionGradient) -> np.float32:
        """Return k of the layer whose weights these are."""
        g = gradient.mean.astype(np.int64)
        return self.factor(self.squares(), int(g @ g))

    def real(self, gradient: DirectionGradient, k: np.float32 | None) -> np.ndarray:
        """Return h, the gradient as real numbers float32 [size]; `k` is that of the layer if it is normalised."""
        with np.errstate(over="ignore", under="ignore"):
            return gradient.mean.astype(F) * (STEP_OF_Z if k is None else k)

    def lower_plain(self, gradient: DirectionGradient, k: np.float32 | None, eta: np.float32) -> None:
        """Step down a gradient; `k` is that of the layer if it is normalised."""
        with np.errstate(over="ignore", under="ignore"):
            f = (eta * (STEP_OF_Z if k is None else k)) / self.known.unit
        self._lower(update_steps(np.array(STEPS_OF_Z), f).astype(self._wide)[gradient.mean])

    def lower_by(self, x: np.ndarray) -> None:
        """Lower the values by real numbers float32 [size]."""
        with np.errstate(over="ignore", under="ignore"):
            y = np.clip(x / self.known.unit, -LARGEST_MOVE, LARGEST_MOVE)
        self._lower(np.rint(y).astype(self._wide))

    def _lower(self, by: np.ndarray) -> None:
        lowered = self.values - by.reshape(self.values.shape)
        self.values = np.clip(lowered, -self._limit, self._limit).astype(np.int32, copy=False)
