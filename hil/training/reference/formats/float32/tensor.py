"""A tensor of the yardstick of QZO-FF in `float32`: perturbation and update (docs/arithmetic-qzo-ff.md, section 10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hil.training.methods.qzo_ff_settings import QzoFfSettings
from hil.training.methods.qzo_ff_tensors import STEP_OF_Z, QzoFfTensor
from hil.training.reference.floats import F, float32_of
from hil.training.reference.formats.float32.forward import clamp

if TYPE_CHECKING:  # the methods are above the formats
    from hil.training.reference.methods.qzo_directions import DirectionGradient

LARGEST_WEIGHT = 2.0**20  # after an update


class Float32Tensor:
    """Weights or biases; `values` are those of the present pass, float32 in the shape of the file.

    A weight that was moved by a direction may come back an ulp away from where it was.
    """

    def __init__(self, known: QzoFfTensor, values: np.ndarray) -> None:
        self.known = known
        self.values: np.ndarray = values.astype(F)

    @property
    def stored(self) -> np.ndarray:
        """The values as they lie in the network file."""
        return self.values.copy()

    def configure(self, settings: QzoFfSettings) -> None:
        """Take the settings: the sizes of the moves."""
        self._epsilon, self._rho = F(settings.epsilon), F(settings.rho)

    def clip(self) -> None:
        """Do nothing: weights at rest have no limit but that of an update."""

    def magnitudes(self) -> np.ndarray:
        """Return |w|, flattened."""
        sizes: np.ndarray = np.abs(self.values).reshape(-1)
        return sizes

    def threshold(self, settings: QzoFfSettings) -> np.float32:
        """Return the magnitude from which `sparse = threshold` selects."""
        return F(settings.threshold)

    def move_of(self, z: np.ndarray) -> np.ndarray:
        """Return epsilon * zf, in the shape of the values, of z int16 [size]."""
        return self._along(z, self._epsilon)

    def moved(self, move: np.ndarray, times: int) -> None:
        """Add times * epsilon * zf; `move` is what `move_of` returns. A product with -2 is exact."""
        self.values = self.values + F(times) * move

    def sharpened(self, z: np.ndarray, sign: int) -> None:
        """Add sign * rho * zf, z int16 [size]."""
        self.values = self.values + self._along(z, F(sign) * self._rho)

    def _along(self, z: np.ndarray, c: np.float32) -> np.ndarray:
        move: np.ndarray = c * (z.astype(F) * STEP_OF_Z)
        return move.reshape(self.values.shape)

    def normalisation(self, gradient: DirectionGradient) -> np.float32:
        """Return sqrt32(A / float(B)) of the layer whose weights these are; 0 if A or B is 0."""
        g = gradient.total.astype(np.int64)
        of_gradient = int(g @ g)
        w = self.values.reshape(-1)
        squares = np.add.accumulate(np.concatenate([np.zeros(1, F), w * w]))[-1]  # in order
        if not squares or not of_gradient:
            return F(0)
        return F(np.sqrt(squares / float32_of(of_gradient)))

    def real(self, gradient: DirectionGradient, k: np.float32 | None) -> np.ndarray:
        """Return h, the gradient as real numbers float32 [size]; `k` is the root of the layer if it is normalised."""
        total = gradient.total.astype(F)
        return (total / F(gradient.directions)) * STEP_OF_Z if k is None else total * k

    def lower_plain(self, gradient: DirectionGradient, k: np.float32 | None, eta: np.float32) -> None:
        """Step down a gradient; `k` is the root of the layer if it is normalised."""
        self.lower_by(eta * self.real(gradient, k))

    def lower_by(self, x: np.ndarray) -> None:
        """Lower the values by real numbers float32 [size]."""
        self.values = clamp(self.values - x.reshape(self.values.shape), -LARGEST_WEIGHT, LARGEST_WEIGHT)
