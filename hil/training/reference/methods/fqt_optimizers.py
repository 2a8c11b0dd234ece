"""What becomes of the gradients of a step: `optimizer` (docs/arithmetic-fqt.md, section 6)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np

from hil.training.methods.fqt_settings import FqtSettings
from hil.training.reference.floats import F
from hil.training.reference.methods.adam_moments import Decay, Moments

LARGEST = F(2.0**50)  # of a velocity, and of a gradient that the moments take
Shape = tuple[int, ...]


class Optimizer(ABC):
    """An optimizer with what it keeps of each trained tensor, which begins at 0.

    Attributes:
        eta: of the step.
    """

    def __init__(self) -> None:
        self.eta = F(0)

    def begin(self, eta: float) -> None:
        """Begin the update of a step."""
        self.eta = F(eta)

    @property
    def factor(self) -> np.float32:
        """What the gradients are multiplied by in the place of eta."""
        return F(1)

    @abstractmethod
    def change(self, place: int, e: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """Return d, by how much each element of a tensor is lowered, float32 in the shape of the tensor.

        Args:
            place: of the tensor among all.
            e: its gradients times `factor`, float32.
            kept: whether a sample kept the channel, bool that broadcasts; d of the others is 0, and their state stays.
        """

    @abstractmethod
    def state(self) -> dict[str, np.ndarray]:
        """Return what decides later steps, by name."""

    @abstractmethod
    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on with what `state` returned."""


class Sgd(Optimizer):
    """Plain steps, which keep nothing."""

    @property
    def factor(self) -> np.float32:
        """As `Optimizer`: eta itself, so that it is rounded with the gradient."""
        return self.eta

    def change(self, place: int, e: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """As `Optimizer`."""
        return np.where(kept, e, F(0))

    def state(self) -> dict[str, np.ndarray]:
        """As `Optimizer`."""
        return {}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """As `Optimizer`."""


class Momentum(Optimizer):
    """SGD with momentum: a velocity for each element."""

    def __init__(self, beta1: float, shapes: Sequence[Shape]) -> None:
        super().__init__()
        self._beta1 = F(beta1)
        self._velocities = [np.zeros(shape, F) for shape in shapes]

    def change(self, place: int, e: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """As `Optimizer`."""
        before = self._velocities[place]
        self._velocities[place] = np.where(kept, np.clip(self._beta1 * before + e, -LARGEST, LARGEST), before)
        return np.where(kept, self.eta * self._velocities[place], F(0))

    def state(self) -> dict[str, np.ndarray]:
        """As `Optimizer`."""
        return {f"velocity{place}": its for place, its in enumerate(self._velocities)}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """As `Optimizer`."""
        self._velocities = [state[f"velocity{place}"].astype(F) for place in range(len(self._velocities))]


class Adam(Optimizer):
    """Adam: two moments for each element."""

    def __init__(self, decay: Decay, shapes: Sequence[Shape]) -> None:
        super().__init__()
        self._decay, self._moments = decay, [Moments(shape) for shape in shapes]

    def begin(self, eta: float) -> None:
        """As `Optimizer`."""
        super().begin(eta)
        self._decay.advance()

    def change(self, place: int, e: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """As `Optimizer`."""
        return self._moments[place].step(np.clip(e, -LARGEST, LARGEST), self._decay, self.eta, kept)

    def state(self) -> dict[str, np.ndarray]:
        """As `Optimizer`."""
        found = self._decay.state()
        for place, its in enumerate(self._moments):
            found |= its.state(place)
        return found

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """As `Optimizer`."""
        self._decay.restore(state)
        for place, its in enumerate(self._moments):
            its.restore(state, place)


def optimizer_of(settings: FqtSettings, shapes: Sequence[Shape]) -> Optimizer:
    """Return the optimizer of the settings for tensors of these shapes."""
    if settings.optimizer == "momentum":
        return Momentum(settings.beta1, shapes)
    if settings.optimizer == "adam":
        return Adam(Decay(settings.beta1, settings.beta2, settings.epsilon), shapes)
    return Sgd()
