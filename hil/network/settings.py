"""The settings of a method that decide its bits (docs/arithmetic.md, section 9)."""

from __future__ import annotations

from dataclasses import dataclass

from hil.errors import RigError, close_matches

BY_BP = {"full-zo": 0, "cls2": 1, "cls1": 2}  # trained tensors left to back-propagation (ElasticZO, section 5.1)
VARIANTS = (*BY_BP, "full-bp")


@dataclass(frozen=True)
class Settings:
    """Settings of ElasticZO-INT8.

    Attributes:
        partition: C, the number of trained tensors by zeroth order.
        b_zo, b_bp: bits of the zeroth-order and the back-propagated update, 1..7.
        p_zero: threshold of the mask in 0..255: round(256 * probability of a zero).
        r_max: largest perturbation, 1..127.
        loss: `float`.
        scope: scope of the activation exponent: `sample`.
        perturb: `clamped`, the paper's form.
        batch: samples a step.
        seed: 32 bits.
    """

    partition: int
    b_zo: int = 1
    b_bp: int = 5
    p_zero: int = 84
    r_max: int = 7
    loss: str = "float"
    scope: str = "sample"
    perturb: str = "clamped"
    batch: int = 8
    seed: int = 1

    def __post_init__(self) -> None:
        limits = {
            "partition": (0, 255),
            "b_zo": (1, 7),
            "b_bp": (1, 7),
            "p_zero": (0, 255),
            "r_max": (1, 127),
            "batch": (1, 65535),
            "seed": (0, 2**32 - 1),
        }
        for name, (low, high) in limits.items():
            value = getattr(self, name)
            if not isinstance(value, int) or not low <= value <= high:
                raise RigError(f"setting {name} is {value}: choose a whole number in {low}..{high}.")
        for name, only in (("loss", "float"), ("scope", "sample"), ("perturb", "clamped")):
            if getattr(self, name) != only:
                raise RigError(f"setting {name} is {getattr(self, name)!r}: this version has {only!r} only.")

    @classmethod
    def of_variant(cls, variant: str, tensors: int, **others: int) -> Settings:
        """Return the settings of a variant for a network of `tensors` trained tensors.

        Raises:
            RigError: an unknown variant, an unknown setting or a value out of range.
        """
        if variant not in VARIANTS:
            raise RigError(f"the method has no variant {variant!r}: {close_matches(variant, VARIANTS)}")
        if "partition" in others:
            raise RigError(f"setting partition follows from the variant {variant!r}: leave one of them out.")
        unknown = set(others) - set(cls.__dataclass_fields__)
        if unknown:
            name = min(unknown)
            raise RigError(f"the method has no setting {name!r}: {close_matches(name, cls.__dataclass_fields__)}")
        partition = 0 if variant == "full-bp" else max(tensors - BY_BP[variant], 0)
        return cls(partition=partition, **others)
