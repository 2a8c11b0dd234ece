"""The settings of ElasticZO in `bfp8` and in `float32` (docs/arithmetic.md, section 9; docs/arithmetic-float32.md)."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

from hil.errors import RigError, close_matches, shown
from hil.training.methods.settings_fields import ElasticzoFields, ElasticzoFp32Fields

BY_BP = {"full-zo": 0, "cls2": 1, "cls1": 2}  # tensors or layers left to back-propagation (ElasticZO, section 5.1)
VARIANTS = (*BY_BP, "full-bp")
BY_NUMBER = "partition-"  # of the variants that name C, such as partition-2
LARGEST_EXACT = 63  # largest r_max of the exact form, so that a weight at rest keeps at least six bits and its sign


@dataclass(frozen=True)
class ElasticZoSettings(ElasticzoFields):
    """Settings of ElasticZO-INT8; methods.toml describes each."""

    def check_together(self) -> None:
        """Raise RigError for settings that do not go together."""
        if self.perturb == "exact" and self.r_max > LARGEST_EXACT:
            raise RigError(
                f"setting r_max is {self.r_max} with perturb = 'exact': choose at most {LARGEST_EXACT}, or the "
                "clamped form."
            )
        if self.loss_fraction and self.loss != "integer":
            raise RigError(
                f"setting loss_fraction is {self.loss_fraction} with loss = {self.loss!r}: it belongs to loss = "
                "'integer', leave it at 0."
            )

    @property
    def limit(self) -> int:
        """W, the largest magnitude of a weight at rest that zeroth order trains (docs/arithmetic.md, section 8)."""
        return 127 - self.r_max if self.perturb == "exact" else 127

    @classmethod
    def of_variant(cls, variant: str, tensors: int, **others: Any) -> ElasticZoSettings:
        """Return the settings of a variant for a network of `tensors` trained tensors.

        Raises:
            RigError: an unknown variant, an unknown setting or a value out of range.
        """
        partition = partition_of(variant, tensors, others)
        cls.check_names(others)
        return cls(partition=partition, **others)


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


def partition_of(variant: str, parts: int, settings: Container[str]) -> int:
    """Return C, how many of the parts that are trained (tensors or layers) zeroth order trains in a variant.

    `partition-C` has C in its name, so that the name of a trial and its record say what was trained.

    Raises:
        RigError: an unknown variant, a C of more parts than there are, or settings that have a partition too.
    """
    if "partition" in settings:
        raise RigError(
            f"setting partition follows from the variant {shown(variant)}: leave it out, and choose the variant "
            f"'{BY_NUMBER}C' with any C in 0..{parts}."
        )
    number = re.fullmatch(f"{BY_NUMBER}(0|[1-9][0-9]{{0,2}})", variant)
    if number is not None:
        partition = int(number[1])
        if partition > parts:
            raise RigError(f"the variant {variant} trains more than the network has: choose a C in 0..{parts}.")
        return partition
    if variant not in VARIANTS:
        known = close_matches(variant, (*VARIANTS, f"{BY_NUMBER}C"))
        raise RigError(f"the method has no variant {variant!r}: {known}")
    return 0 if variant == "full-bp" else max(parts - BY_BP[variant], 0)
