"""A figure with its unit, its uncertainty and its provenance."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from hil.errors import RigError


class Provenance(str, Enum):
    """The origin of a figure.

    - measured: read from silicon or from an instrument;
    - counted: events or bytes counted exactly, on any reality;
    - modelled: a count turned into another quantity by a model;
    - analytic: calculated on paper;
    - declared: stated by the user, such as a number read from a display or a file of another program.
    """

    MEASURED = "measured"
    COUNTED = "counted"
    MODELLED = "modelled"
    ANALYTIC = "analytic"
    DECLARED = "declared"


@dataclass(frozen=True)
class Quantity:
    """One figure.

    Attributes:
        value: in `unit`.
        unit: symbol of the unit, `1` for a plain fraction or count.
        provenance: a `Provenance` or its value.
        uncertainty: standard uncertainty in `unit` (GUM, JCGM 100:2008, section 2.3.1); None if not evaluated.
        note: what the reader must also know.

    Raises:
        RigError: the provenance is not one of the five values.
    """

    value: int | float
    unit: str
    provenance: Provenance
    uncertainty: float | None = None
    note: str = ""

    def __post_init__(self) -> None:
        known = [word.value for word in Provenance]
        if self.provenance not in known:
            raise RigError(
                f"a figure in {self.unit} has the provenance {self.provenance!r}: use one of {', '.join(known)}."
            )
        object.__setattr__(self, "provenance", Provenance(self.provenance))

    def to_json(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        return asdict(self) | {"provenance": self.provenance.value}
