"""The settings of QZO-FF (docs/arithmetic-qzo-ff.md, section 9)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hil.errors import RigError
from hil.training.methods.last_layers import LastLayers
from hil.training.methods.settings_fields import QzoFfFields


@dataclass(frozen=True)
class QzoFfSettings(QzoFfFields, LastLayers):
    """Settings of QZO-FF; methods.toml describes each."""

    def check_together(self) -> None:
        """Raise RigError for settings that do not go together."""
        if 0 < self.steps <= self.warmup:
            raise RigError(
                f"setting steps is {self.steps} with warmup = {self.warmup}: the cosine begins after the warm-up, "
                "choose more steps, or 0 for a constant rate."
            )
        if np.float32(self.eta_min) > np.float32(self.eta):
            raise RigError(
                f"setting eta_min is {self.eta_min} with eta = {self.eta}: the rate would rise, choose at most eta."
            )

    @property
    def has_sharpness(self) -> bool:
        """Whether a step begins with a sharpness-aware perturbation."""
        return bool(np.float32(self.rho) > 0)

    @property
    def draws(self) -> int:
        """Directions that a step draws, with that of the sharpness-aware perturbation."""
        return self.directions + self.has_sharpness
