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


def kib(value: float | None) -> str:
    """Write bytes in KiB, fewer than one as they are."""
    if value is None or value < 1024:
        return number(value, "B")
    return f"{value / 1024:,.1f}".removesuffix(".0") + f"{NO_BREAK}KiB"


def span(low: str, high: str) -> str:
    """Write a range of two figures with units as one; a single figure where they are alike."""
    (first, unit), (_, same) = low.rsplit(NO_BREAK, 1), high.rsplit(NO_BREAK, 1)
    return low if low == high else f"{first if unit == same else low} to {high}"


def figure(quantity: dict[str, Any]) -> str:
    """Write a quantity of the record (value, unit, uncertainty), value and uncertainty with one prefix.

    The value gets as many decimals as two digits of the standard uncertainty need (GUM, JCGM 100:2008, section 7.2.6).
    """
    said, plus_minus, unit = parts(quantity)
    return f"{said} ± {plus_minus}{unit}" if plus_minus else f"{said}{unit}"


def parts(quantity: dict[str, Any]) -> tuple[str, str, str]:
    """Return value, uncertainty (empty where there is none) and unit of a quantity as `figure` writes them."""
    value, uncertainty, unit = quantity["value"], quantity["uncertainty"], quantity["unit"]
    scale, prefix = next((pair for pair in PREFIXES if abs(value) >= pair[0]), PREFIXES[-1])
    if not value:
        scale, prefix = PREFIXES[0]
    if not uncertainty:
        return f"{value / scale:,.4g}", "", f"{NO_BREAK}{prefix}{unit}"
    decimals = max(0, 1 - math.floor(math.log10(uncertainty / scale)))
    return f"{value / scale:,.{decimals}f}", f"{uncertainty / scale:,.{decimals}f}", f"{NO_BREAK}{prefix}{unit}"
