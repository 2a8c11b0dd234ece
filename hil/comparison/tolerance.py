"""How near the device must come to the reference: exact, in ulp, relative and absolute, or by the tensor's errors."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from numbers import Integral, Real
from sys import float_info
from typing import Any, ClassVar

import numpy as np

from hil.errors import RigError, shown

WAYS = "exact=True, ulp=, rtol= and atol=, max_abs= or mean_abs="


@dataclass(frozen=True)
class ElementErrors:
    """The errors of some elements of a tensor, each an array of one dimension.

    Attributes:
        same_bits: bool; whether device and reference have the same bits.
        distance: float64; |device - reference|. Infinite where one of them is NaN or infinite and the other is not the
            same infinity.
        size: float64; |reference|, but 0 where it or `distance` is infinite, so that no relative tolerance holds there.
        ulp: uint64; distance in units in the last place, its largest value where `distance` is infinite for that
            reason.
    """

    same_bits: np.ndarray
    distance: np.ndarray
    size: np.ndarray
    ulp: np.ndarray


@dataclass(frozen=True)
class Tolerance(ABC):
    """How near a tensor must be; made by `exact`, `ulp`, `rtol`, `atol`, `max_abs` and `mean_abs`.

    NaN in the device's tensor, and an infinity that the reference does not have there, are outside every tolerance.
    """

    kind: ClassVar[str] = ""

    @property
    @abstractmethod
    def words(self) -> str:
        """The tolerance as it is written: `ulp=2`."""

    def fields(self) -> dict[str, Any]:
        """Return its kind and its numbers, for JSON."""
        return {"kind": self.kind, **asdict(self)}

    @abstractmethod
    def outside(self, errors: ElementErrors) -> np.ndarray:
        """Return which elements are too far from the reference (bool)."""

    def mean_limit(self) -> float:
        """Return the largest mean error that the tensor may have."""
        return math.inf

    def why_not_for(self, dtype: np.dtype[Any]) -> str:
        """Return why this tolerance means nothing for a dtype; empty if it does."""
        return ""


@dataclass(frozen=True)
class Exact(Tolerance):
    """Every bit is the same. So -0.0 is not 0.0; use `ulp(0)` where it should be."""

    kind: ClassVar[str] = "exact"

    @property
    def words(self) -> str:
        """The tolerance as it is written."""
        return "exact"

    def outside(self, errors: ElementErrors) -> np.ndarray:
        """Return which elements have other bits."""
        return np.asarray(~errors.same_bits)


@dataclass(frozen=True)
class Ulp(Tolerance):
    """At most `units` representable values away; -0.0 and 0.0 are the same value. For integers one unit is 1."""

    units: int
    kind: ClassVar[str] = "ulp"

    @property
    def words(self) -> str:
        """The tolerance as it is written."""
        return f"ulp={self.units}"

    def outside(self, errors: ElementErrors) -> np.ndarray:
        """Return which elements are more units away."""
        return np.asarray(errors.ulp > self.units)

    def why_not_for(self, dtype: np.dtype[Any]) -> str:
        """Return why so many units mean nothing for a dtype."""
        if dtype.kind == "f" and self.units >= 2 ** np.finfo(dtype).nmant:
            return f"{self.words} is a factor of two or more in {dtype}"
        if dtype.kind in "iu" and self.units >= np.iinfo(dtype).max // 2:
            return f"{self.words} is a quarter of all values of {dtype} or more"
        return ""


@dataclass(frozen=True)
class Close(Tolerance):
    """|device - reference| <= atol + rtol * |reference|, in float64 (as `numpy.isclose`, with atol 0)."""

    rtol: float
    atol: float
    kind: ClassVar[str] = "close"

    @property
    def words(self) -> str:
        """The tolerance as it is written."""
        parts = [f"{name}={value:g}" for name, value in (("rtol", self.rtol), ("atol", self.atol)) if value]
        return ", ".join(parts) or "rtol=0"

    def outside(self, errors: ElementErrors) -> np.ndarray:
        """Return which elements are farther away."""
        return np.asarray(errors.distance > self.atol + self.rtol * errors.size)


@dataclass(frozen=True)
class MaxAbs(Tolerance):
    """The largest |device - reference| of the tensor is at most `limit`."""

    limit: float
    kind: ClassVar[str] = "max_abs"

    @property
    def words(self) -> str:
        """The tolerance as it is written."""
        return f"max_abs={self.limit:g}"

    def outside(self, errors: ElementErrors) -> np.ndarray:
        """Return which elements are farther away."""
        return np.asarray(errors.distance > self.limit)


@dataclass(frozen=True)
class MeanAbs(Tolerance):
    """The mean of |device - reference| over the tensor is at most `limit`."""

    limit: float
    kind: ClassVar[str] = "mean_abs"

    @property
    def words(self) -> str:
        """The tolerance as it is written."""
        return f"mean_abs={self.limit:g}"

    def outside(self, errors: ElementErrors) -> np.ndarray:
        """Return which elements are NaN or infinite where the reference is not."""
        return np.asarray(np.isinf(errors.distance))

    def mean_limit(self) -> float:
        """Return the limit."""
        return self.limit


def words_of(fields: Mapping[str, Any]) -> str | None:
    """Return the words of a tolerance from its `fields`; None if they are those of none."""
    kind, numbers = fields.get("kind"), {name: value for name, value in fields.items() if name != "kind"}
    for each in (Exact, Ulp, Close, MaxAbs, MeanAbs):
        if each.kind == kind:
            try:
                return each(**numbers).words
            except (TypeError, ValueError):
                return None
    return None


def exact() -> Tolerance:
    """Return the tolerance of equal bits (-0.0 is not 0.0)."""
    return Exact()


def ulp(units: int) -> Tolerance:
    """Return the tolerance of `units` in the last place of the tensor's dtype; 0 is equal values.

    Raises:
        RigError: `units` is no whole number, or negative.
    """
    if isinstance(units, bool) or not isinstance(units, Integral) or int(units) < 0:
        raise RigError(f"ulp={shown(units)}: give a whole number, 0 or more.")
    return Ulp(int(units))


def rtol(relative: float, atol: float = 0.0) -> Tolerance:
    """Return the tolerance |device - reference| <= atol + relative * |reference|.

    Raises:
        RigError: a number is negative or not finite, or `relative` is 1 or more: then 0 would be near everything.
    """
    if _number("rtol", relative) >= 1:
        raise RigError(f"rtol={relative:g} would let 0 pass for every value: give a fraction below 1.")
    return Close(float(relative), _number("atol", atol))


def atol(absolute: float) -> Tolerance:
    """Return the tolerance |device - reference| <= absolute, for each element. Raises RigError as `rtol`."""
    return Close(0.0, _number("atol", absolute))


def max_abs(limit: float) -> Tolerance:
    """Return the tolerance for the largest absolute error of a tensor. Raises RigError as `rtol`."""
    return MaxAbs(_number("max_abs", limit))


def mean_abs(limit: float) -> Tolerance:
    """Return the tolerance for the mean absolute error of a tensor. Raises RigError as `rtol`."""
    return MeanAbs(_number("mean_abs", limit))


@dataclass(frozen=True)
class Tolerances:
    """The tolerance of every tensor: by its name, else by the first pattern that matches it, else the default."""

    default: Tolerance | None
    by_tensor: Mapping[str, Tolerance]

    def pattern_of(self, tensor: str) -> str | None:
        """Return the key of `by_tensor` that holds for a tensor; None if the default does."""
        if tensor in self.by_tensor:
            return tensor
        return next((pattern for pattern in self.by_tensor if fnmatchcase(tensor, pattern)), None)

    def of(self, tensor: str) -> Tolerance:
        """Return the tolerance of a tensor. Raises RigError if there is none."""
        pattern = self.pattern_of(tensor)
        found = self.default if pattern is None else self.by_tensor[pattern]
        if found is None:
            raise RigError(
                f"tensor {tensor} has no tolerance: by_tensor has no pattern for it, and there is no default; "
                f"add {{{tensor!r}: ...}} to by_tensor, or give {WAYS}."
            )
        return found

    @property
    def words(self) -> str:
        """All of them in words: `rtol=1e-05; loss: ulp=2`."""
        parts = [f"{pattern}: {tolerance.words}" for pattern, tolerance in self.by_tensor.items()]
        return "; ".join(([self.default.words] if self.default is not None else []) + parts)


def tolerances(given: Mapping[str, Any], by_tensor: Mapping[str, Tolerance] | None) -> Tolerances:
    """Return the tolerances of a comparison, from the arguments of `compare`.

    Raises:
        RigError: there are none, or two kinds at once, or one has a wrong value.
    """
    if not isinstance(given["exact"], bool):
        raise RigError(f"exact={shown(given['exact'])}: give True, or another tolerance ({WAYS}).")
    kinds = [_KIND_OF[name] for name, value in given.items() if value is not None and value is not False]
    if len(set(kinds)) > 1:
        raise RigError(f"a comparison has one kind of tolerance for all tensors: give only one of {WAYS}.")
    patterns = dict(by_tensor or {})
    for pattern, one in patterns.items():
        if not isinstance(pattern, str) or not isinstance(one, Tolerance):
            raise RigError(
                f"by_tensor has {shown(pattern)}: {shown(one)}: give a name or a pattern, and one of exact(), ulp(2), "
                "rtol(1e-5), atol(1e-6), max_abs(0.1), mean_abs(0.01) of hil.comparison."
            )
    if not kinds and not patterns:
        raise RigError(f"this comparison has no tolerance: give {WAYS}.")
    return Tolerances(_default(kinds[0], given) if kinds else None, patterns)


_KIND_OF = {"exact": "exact", "ulp": "ulp", "rtol": "close", "atol": "close", "max_abs": "max_abs",
            "mean_abs": "mean_abs"}  # fmt: skip


def _default(kind: str, given: Mapping[str, Any]) -> Tolerance:
    match kind:
        case "exact":
            return exact()
        case "ulp":
            return ulp(given["ulp"])
        case "close":
            return rtol(*(0.0 if given[name] is None else given[name] for name in ("rtol", "atol")))
        case "max_abs":
            return max_abs(given["max_abs"])
        case _:
            return mean_abs(given["mean_abs"])


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or value < 0 or not value <= float_info.max:
        raise RigError(f"{name}={shown(value)}: give a finite number, 0 or more.")
    return float(value)
