"""The settings of QuZO (docs/arithmetic-quzo.md, section 5)."""

from __future__ import annotations

from dataclasses import dataclass

from hil.training.methods.last_layers import LastLayers
from hil.training.methods.settings_fields import QuzoFields


@dataclass(frozen=True)
class QuzoSettings(QuzoFields, LastLayers):
    """Settings of QuZO; methods.toml describes each."""
