"""The moments of Adam and AdamW, in binary32, every operation rounded by itself.

docs/arithmetic-qzo-ff.md, section 6, and docs/arithmetic-fqt.md, section 6. `np.sqrt` of binary32 is rounded correctly.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hil.training.reference.floats import F


class Decay:
    """The powers of both betas since `configure`, which correct the moments; `epsilon` is added to the root."""

    def __init__(self, beta1: float, beta2: float, epsilon: float) -> None:
        self.beta1, self.beta2, self.epsilon = F(beta1), F(beta2), F(epsilon)
        self._p1 = self._p2 = F(1)
        self.c1 = self.c2 = F(1)

    def advance(self) -> None:
        """Begin the update of a step."""
        self._p1, self._p2 = self._p1 * self.beta1, self._p2 * self.beta2
        self.c1, self.c2 = F(1) - self._p1, F(1) - self._p2

    def state(self) -> dict[str, np.ndarray]:
        """Return the powers by name."""
        return {"p": np.array([self._p1, self._p2], F)}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on with powers that `state` returned."""
        self._p1, self._p2 = map(F, state["p"])


class Moments:
    """M and V of a tensor."""

    def __init__(self, shape: int | tuple[int, ...]) -> None:
        self.m: np.ndarray = np.zeros(shape, F)
        self.v: np.ndarray = np.zeros(shape, F)

    def step(self, h: np.ndarray, decay: Decay, eta: np.float32, mask: np.ndarray | None) -> np.ndarray:
        """Return x, by how much each element is lowered, of gradients float32 in the shape of the tensor.

        Where the mask does not select, x is 0 and the moments stay; the mask broadcasts.
        """
        with np.errstate(over="ignore", under="ignore"):
            m: np.ndarray = (decay.beta1 * self.m) + ((F(1) - decay.beta1) * h)
            v: np.ndarray = (decay.beta2 * self.v) + ((F(1) - decay.beta2) * (h * h))
            x: np.ndarray = ((m / decay.c1) / (np.sqrt(v / decay.c2) + decay.epsilon)) * eta
        if mask is not None:
            m, v, x = np.where(mask, m, self.m), np.where(mask, v, self.v), np.where(mask, x, F(0))
        self.m, self.v = m, v
        return x

    def state(self, index: int) -> dict[str, np.ndarray]:
        """Return M and V by name; `index` is that of the tensor."""
        return {f"m{index}": self.m, f"v{index}": self.v}

    def restore(self, state: Mapping[str, np.ndarray], index: int) -> None:
        """Go on with M and V that `state` returned."""
        self.m, self.v = state[f"m{index}"].astype(F), state[f"v{index}"].astype(F)
