"""Poor Man's Training of the last layer only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from hil.methods.poor_mans_training import PoorMansTraining


@dataclass(frozen=True)
class LastLayer(PoorMansTraining):
    """The method."""

    name = "last-layer"
    default_variant = "adaptive"
    variants: ClassVar[Mapping[str, Any]] = {"adaptive": {"train": "last"}}
