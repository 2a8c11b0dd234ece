"""The settings of ElasticZO-INT8 (docs/arithmetic.md, section 9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from hil.errors import RigError, close_matches
from hil.methods.checks import check_names, check_numbers, check_words

BY_BP = {"full-zo": 0, "cls2": 1, "cls1": 2}  # trained tensors left to back-propagation (ElasticZO, section 5.1)
VARIANTS = (*BY_BP, "full-bp")
WORDS = {
    "loss": ("float", "integer"),
    "scope": ("sample", "batch"),
    "perturb": ("clamped", "exact"),
    "logit_error": ("niti", "zero-sum"),
}
MOST_FRACTION_BITS = 6  # of the integer loss: its table of powers has 2^6 entries
LIMITS = {
    "partition": (0, 255), "b_zo": (1, 7), "b_bp": (1, 7), "p_zero": (0, 255), "r_max": (1, 127), "loss_fraction": (0, MOST_FRACTION_BITS),
    "batch": (1, 65535), "seed": (0, 2**32 - 1),
}  # fmt: skip
SCHEDULED = ("b_zo", "b_bp", "p_zero", "r_max")  # may change between two steps (docs/arithmetic.md, section 9)
LARGEST_EXACT = 63  # largest r_max of the exact form, so that a weight at rest keeps at least six bits and its sign


@dataclass(frozen=True)
class Settings:
    """Settings of ElasticZO-INT8.

    Attributes:
        partition: C, the number of trained tensors by zeroth order.
        b_zo, b_bp: bits of the zeroth-order and the back-propagated update, 1..7.
        p_zero: threshold of the mask in 0..255: round(256 * probability of a zero).
        r_max: largest perturbation, 1..127.
        loss: `float`, or `integer` for INT8*.
        scope: scope of the activation exponent: `sample` or `batch`.
        perturb: `clamped`, the paper's form, or `exact`.
        logit_error: `niti`, the form of NITI's program, or `zero-sum` (docs/arithmetic.md, section 6).
        loss_fraction: fraction bits of the integer loss, 0..6; 0 is the paper's form (section 5).
        batch: samples a step.
        seed: 32 bits.
    """

    words = WORDS
    limits = LIMITS
    ranges: ClassVar[Mapping[str, str]] = {}

    partition: int
    b_zo: int = 1
    b_bp: int = 5
    p_zero: int = 84
    r_max: int = 7
    loss: str = "float"
    scope: str = "sample"
    perturb: str = "clamped"
    logit_error: str = "niti"
    loss_fraction: int = 0
    batch: int = 8
    seed: int = 1

    def __post_init__(self) -> None:
        check_numbers(self, LIMITS)
        check_words(self, WORDS)
        if self.perturb == "exact" and self.r_max > LARGEST_EXACT:
            raise RigError(
                f"setting r_max is {self.r_max} with perturb = 'exact': choose at most {LARGEST_EXACT}, or the clamped form."
            )
        if self.loss_fraction and self.loss != "integer":
            raise RigError(
                f"setting loss_fraction is {self.loss_fraction} with loss = {self.loss!r}: it belongs to loss = 'integer', leave it at 0."
            )

    @property
    def limit(self) -> int:
        """W, the largest magnitude of a weight at rest that zeroth order trains (docs/arithmetic.md, section 8)."""
        return 127 - self.r_max if self.perturb == "exact" else 127

    def changed(self, **changes: Any) -> Settings:
        """Return the settings after a change of the schedule.

        Raises:
            RigError: a setting that holds for a whole trial, or a value out of range.
        """
        for name in changes:
            if name not in SCHEDULED:
                raise RigError(f"the schedule cannot change {name!r}: {close_matches(name, SCHEDULED)}")
        return replace(self, **changes)

    @classmethod
    def of_variant(cls, variant: str, tensors: int, **others: Any) -> Settings:
        """Return the settings of a variant for a network of `tensors` trained tensors.

        Raises:
            RigError: an unknown variant, an unknown setting or a value out of range.
        """
        if variant not in VARIANTS:
            raise RigError(f"the method has no variant {variant!r}: {close_matches(variant, VARIANTS)}")
        if "partition" in others:
            raise RigError(f"setting partition follows from the variant {variant!r}: leave one of them out.")
        check_names(others, cls.__dataclass_fields__)
        partition = 0 if variant == "full-bp" else max(tensors - BY_BP[variant], 0)
        return cls(partition=partition, **others)
