"""Poor Man's Training of the biases only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from hil.methods.poor_mans_training import PoorMansTraining


@dataclass(frozen=True)
class BiasOnly(PoorMansTraining):
    """The method."""

    name = "bias-only"
    default_variant = "adaptive"
    variants: ClassVar[Mapping[str, Any]] = {"adaptive": {"train": "bias"}}
