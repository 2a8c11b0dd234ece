"""How figures are written on the pages: separators, units, and digits that fit the uncertainty."""

from __future__ import annotations

import math
from typing import Any

NO_BREAK = "\N{NO-BREAK SPACE}"  # between a figure and its unit
PREFIXES = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))


def number(value: float | None, unit: str = "") -> str:
    """Write a count or an amount of bytes with separators, a dash for None."""
    return "–" if value is None else f"{value:,}{NO_BREAK + unit if unit else ''}"


def percent(value: float | None, uncertainty: float | None = None) -> str:
    """Write a fraction in percent, with its standard uncertainty where one is given."""
    if value is None:
        return "–"
    plus_minus = "" if uncertainty is None else f" ± {100 * uncertainty:.1f}"
    return f"{100 * value:.1f}{plus_minus}{NO_BREAK}%"


def seconds(value: float | None) -> str:
    """Write a time in s, or in ms when it is below one second."""
    if value is None:
        return "–"
    return f"{value * 1e3:,.2f}{NO_BREAK}ms" if value < 1 else f"{value:,.2f}{NO_BREAK}s"


def figure(quantity: dict[str, Any]) -> str:
    """Write a quantity of the record (value, unit, uncertainty), value and uncertainty with one prefix.

    The value gets as many decimals as two digits of the standard uncertainty need (GUM, JCGM 100:2008, section 7.2.6).
    """
    value, uncertainty, unit = quantity["value"], quantity["uncertainty"], quantity["unit"]
    scale, prefix = next((pair for pair in PREFIXES if abs(value) >= pair[0]), PREFIXES[-1])
    if not value:
        scale, prefix = PREFIXES[0]
    said = f"{value / scale:,.4g}"
    if uncertainty:
        decimals = max(0, 1 - math.floor(math.log10(uncertainty / scale)))
        said = f"{value / scale:,.{decimals}f} ± {uncertainty / scale:,.{decimals}f}"
    return f"{said}{NO_BREAK}{prefix}{unit}"
