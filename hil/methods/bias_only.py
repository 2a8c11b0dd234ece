"""Poor Man's Training of the biases only."""

from __future__ import annotations

from dataclasses import dataclass

from hil.methods.poor_mans_training import PoorMansTraining


@dataclass(frozen=True)
class BiasOnly(PoorMansTraining):
    """The method."""

    name = "bias-only"
    default_variant = "adaptive"
    variants = {"adaptive": {"train": "bias"}}  # noqa: RUF012
