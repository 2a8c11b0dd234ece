"""MCUTrain: back-propagation with momentum in a few layers.

MCUTrain finds the layers that it trains beforehand, by search; here they are the pointwise layers of block 3, which
Poor Man's Training trains of MCUNet when it is compared with it (its table 11: the same trainable parameters).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from hil.methods.int8_bp import Int8Bp


@dataclass(frozen=True)
class Mcutrain(Int8Bp):
    """The method."""

    name = "mcutrain"
    default_variant = "block3"
    variants: ClassVar[Mapping[str, Any]] = {"block3": {"train": "pointwise", "blocks": 4, "momentum": 0.9}}
