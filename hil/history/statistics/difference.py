"""The difference of two figures with its 95 % interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hil.errors import RigError
from hil.quantity import Provenance, Quantity

COVERAGE = 1.96  # standard uncertainties on each side of the difference (GUM, JCGM 100:2008, G.1.3)
WEAKEST_FIRST = (
    Provenance.DECLARED, Provenance.MODELLED, Provenance.ANALYTIC, Provenance.MEASURED, Provenance.COUNTED,
)  # fmt: skip


@dataclass(frozen=True)
class FigureDifference:
    """Second figure minus first.

    Attributes:
        quantity: the difference, with the weaker provenance of both; its uncertainty is None if that of neither was
            evaluated.
        relative: over the first figure; None if that is 0.
        low, high: 95 % interval; both the difference itself if neither figure has an uncertainty.
    """

    quantity: Quantity
    relative: float | None
    low: float
    high: float

    @property
    def sentence(self) -> str:
        """What may be said of the difference."""
        value, uncertainty = self.quantity.value, self.quantity.uncertainty
        if uncertainty is None and not value:
            return "equal"
        word = "higher" if value > 0 else "lower"
        if uncertainty is None:
            return word if self.quantity.provenance is Provenance.COUNTED else f"{word}, uncertainty not evaluated"
        if self.low <= 0 <= self.high:
            return "the interval includes 0: no difference is shown"
        return word


def difference(first: Quantity, second: Quantity) -> FigureDifference:
    """Return the difference of two independent figures (GUM, equation (10)).

    Errors that both share, such as the gain of one meter, are counted as if they were independent: the interval is then
    too wide, never too narrow. A figure without uncertainty beside one with it counts as exact.

    Raises:
        RigError: the units differ.
    """
    if first.unit != second.unit:
        raise RigError(f"{first.value:g} {first.unit} and {second.value:g} {second.unit}: compare figures of one unit.")
    value = second.value - first.value
    known = [one.uncertainty for one in (first, second) if one.uncertainty is not None]
    uncertainty = math.hypot(*known) if known else None
    provenance = min(first.provenance, second.provenance, key=WEAKEST_FIRST.index)
    half = COVERAGE * (uncertainty or 0.0)
    relative = value / abs(first.value) if first.value else None
    return FigureDifference(Quantity(value, first.unit, provenance, uncertainty), relative, value - half, value + half)
