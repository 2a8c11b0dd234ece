"""MeZO: Poor Man's Training of all weights at once with central differences of one query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from hil.methods.poor_mans_training import PoorMansTraining


@dataclass(frozen=True)
class Mezo(PoorMansTraining):
    """The method."""

    name = "mezo"
    default_variant = "mezo"
    variants: ClassVar[Mapping[str, Any]] = {
        "mezo": {"perturb": "weight", "wise": "model", "difference": "central", "queries": 1, "gns": 0, "qas": 0}
    }
    cell: ClassVar[Mapping[str, Any]] = {"batch": 1, "steps": 2, "settings": {}}
