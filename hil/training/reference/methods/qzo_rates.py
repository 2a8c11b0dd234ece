"""The learning rate of QZO-FF and its moments by AdamW, in binary32, every operation rounded by itself.

docs/arithmetic-qzo-ff.md, section 6. `np.sqrt` of binary32 is rounded correctly.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hil.training.methods.qzo_ff_settings import QzoFfSettings
from hil.training.reference.floats import F

PI = F(float.fromhex("0x1.921fb6p+1"))
SINE_TERMS = [
    F(float.fromhex(term))
    for term in ("0x1p+0", "-0x1.555556p-3", "0x1.111112p-7", "-0x1.a01a02p-13", "0x1.71de3ap-19", "-0x1.ae6456p-26")
]
SMALLEST_ROOT = F(float.fromhex("0x1.5798eep-27"))  # e, 1e-8


def rate(settings: QzoFfSettings, step: int) -> np.float32:
    """Return eta_t: warm-up, then constant, or half a cosine."""
    eta, eta_min, warmup, steps = F(settings.eta), F(settings.eta_min), settings.warmup, settings.steps
    if step < warmup:
        return eta * (F(step + 1) / F(warmup))
    if not steps:
        return eta
    if step >= steps:
        return eta_min
    x = F(step - warmup) / F(steps - warmup)
    r = (x - F(0.5)) * PI
    q = r * r
    p = SINE_TERMS[5]
    for term in SINE_TERMS[4::-1]:
        p = (p * q) + term
    h = F(0.5) - (F(0.5) * (r * p))
    return F(eta_min + ((eta - eta_min) * h))


class Decay:
    """The powers of both betas, which correct the moments, since `configure`."""

    def __init__(self, settings: QzoFfSettings) -> None:
        self.beta1, self.beta2 = F(settings.beta1), F(settings.beta2)
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

    def __init__(self, size: int) -> None:
        self.m: np.ndarray = np.zeros(size, F)
        self.v: np.ndarray = np.zeros(size, F)

    def step(self, h: np.ndarray, decay: Decay, eta: np.float32, mask: np.ndarray | None) -> np.ndarray:
        """Return x, by how much each element is lowered, of gradients float32 [size]; moments stay where masked."""
        with np.errstate(over="ignore", under="ignore"):
            m: np.ndarray = (decay.beta1 * self.m) + ((F(1) - decay.beta1) * h)
            v: np.ndarray = (decay.beta2 * self.v) + ((F(1) - decay.beta2) * (h * h))
            x: np.ndarray = ((m / decay.c1) / (np.sqrt(v / decay.c2) + SMALLEST_ROOT)) * eta
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
