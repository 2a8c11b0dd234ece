"""The settings of ElasticZO on `float32` (docs/arithmetic-float32.md, section 10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hil.training.methods.elasticzo_settings import partition_of
from hil.training.methods.settings_fields import ElasticzoFp32Fields


@dataclass(frozen=True)
class Fp32Settings(ElasticzoFp32Fields):
    """Settings of ElasticZO on `float32`; methods.toml describes each."""

    @classmethod
    def of_variant(cls, variant: str, layers: int, **others: Any) -> Fp32Settings:
        """Return the settings of a variant for a network with so many layers with weights.

        Raises:
            RigError: an unknown variant, an unknown setting or a value out of range.
        """
        partition = partition_of(variant, layers, others)
        cls.check_names(others)
        return cls(partition=partition, **others)
