"""Poor Man's Training of the last layer only."""

from __future__ import annotations

from dataclasses import dataclass

from hil.methods.poor_mans_training import PoorMansTraining


@dataclass(frozen=True)
class LastLayer(PoorMansTraining):
    """The method."""

    name = "last-layer"
    default_variant = "adaptive"
    variants = {"adaptive": {"train": "last"}}  # noqa: RUF012
