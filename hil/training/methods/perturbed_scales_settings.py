"""The settings of perturbed scales (docs/arithmetic-quzo.md, sections 9 and 10)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hil.training.methods.directions import LARGEST_TABLE
from hil.training.methods.last_layers import LastLayers
from hil.training.methods.settings_fields import PerturbedScalesFields

SMALLEST_GAIN, LARGEST_GAIN = 2**22, 2**26  # in the passes
STEPS_OF_EPSILON = 2.0**19
LARGEST_Z = LARGEST_TABLE["gaussian"]


@dataclass(frozen=True)
class PerturbedScalesSettings(PerturbedScalesFields, LastLayers):
    """Settings of perturbed scales; methods.toml describes each."""

    @property
    def epsilon_steps(self) -> int:
        """E: what a gain moves by for each step of z."""
        return int(np.rint(float(np.float32(self.epsilon)) * STEPS_OF_EPSILON))

    @property
    def limits(self) -> tuple[int, int]:
        """W_min and W_max: between them a gain is at rest, so that no pass leaves its own limits."""
        reach = LARGEST_Z * self.epsilon_steps
        return SMALLEST_GAIN + reach, LARGEST_GAIN - reach
