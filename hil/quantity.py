"""A figure with its unit, its uncertainty and its provenance."""

from __future__ import annotations

import math
import re
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
                f"the provenance of a figure of {self.value} {self.unit} is {self.provenance!r}: use one of "
                f"{', '.join(known)}."
            )
        object.__setattr__(self, "provenance", Provenance(self.provenance))

    def to_json(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        return asdict(self) | {"provenance": self.provenance.value}


def share(p: float, n: int) -> Quantity:
    """Return a counted fraction p of n with its binomial standard error."""
    return Quantity(p, "1", Provenance.COUNTED, math.sqrt(p * (1 - p) / n), f"n = {n:,}")


PREFIXES: dict[str, dict[str, float]] = {  # by unit; the first that fits a value is used in words
    "B": {"MiB": 1 << 20, "KiB": 1 << 10, "MB": 1e6, "kB": 1e3, "B": 1},
    "s": {"s": 1, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9},
    "J": {"J": 1, "mJ": 1e-3, "uJ": 1e-6, "µJ": 1e-6, "nJ": 1e-9},
    "1": {"%": 0.01},
}
# What programs count, as part of a regular expression for units.
COUNTED = "cycle|step|sample|image|frame|batch|epoch|byte|bit|instruction|operation|op|FLOP|MAC|parameter|event|count"
DECIMAL = r"(?:[0-9]+(?:[.][0-9]*)?|[.][0-9]+)"  # as part of a regular expression; digits of ASCII only
WRITTEN = re.compile(rf"({DECIMAL}(?:[eE][+-]?[0-9]+)?)\s*([A-Za-zµ%]+)")
EXAMPLES = "write a number and a unit, such as 256 KiB, 310 ms, 2.5 mJ or 65 %"


def with_micro_sign(text: str) -> str:
    """Return a text with the micro sign for the Greek letter, which looks alike."""
    return text.replace("\N{GREEK SMALL LETTER MU}", "\N{MICRO SIGN}")


def parse_quantity(text: str) -> Quantity:
    """Return a quantity that a user wrote, in bytes, seconds, joules or as a fraction; its provenance is `declared`.

    Raises:
        RigError: the text is no number with a known unit.
    """
    found = WRITTEN.fullmatch(with_micro_sign(text.strip()))
    for unit, names in PREFIXES.items():
        if found is not None and found[2] in names and math.isfinite(float(found[1])):
            value = float(found[1]) * names[found[2]]
            return Quantity(round(value) if unit == "B" else value, unit, Provenance.DECLARED)
    raise RigError(f"{text[:60]!r} is not a quantity: {EXAMPLES}.")


def in_words(value: float, unit: str, digits: int = 4) -> str:
    """Return a value with its unit for a sentence: bytes in full, other units with a prefix and so many digits."""
    if unit == "B":
        return f"{value:,.0f} bytes"
    if unit == "1":
        return f"{100 * value:.{digits}g} %"
    names = PREFIXES.get(unit, {unit: 1})
    name = next((one for one, size in names.items() if abs(value) >= size), unit)
    return f"{value / names[name]:,.{digits}g} {name}"
