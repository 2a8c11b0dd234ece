"""Format figures for the pages: separators, units, and digits that fit the uncertainty."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

NO_BREAK = "\N{NO-BREAK SPACE}"  # between a figure and its unit
PREFIXES = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))


def number(value: float | None, unit: str = "") -> str:
    """Format a count or an amount of bytes with separators; a dash for None."""
    return "–" if value is None else f"{value:,}{NO_BREAK + unit if unit else ''}"


def percent(value: float | None, uncertainty: float | None = None) -> str:
    """Format a fraction in percent, with its standard uncertainty if given."""
    if value is None:
        return "–"
    plus_minus = "" if uncertainty is None else f" ± {100 * uncertainty:.1f}"
    return f"{100 * value:.1f}{plus_minus}{NO_BREAK}%"


def seconds(value: float | None) -> str:
    """Format a time in s, or in ms if it is below one second."""
    if value is None:
        return "–"
    return f"{value * 1e3:,.2f}{NO_BREAK}ms" if value < 1 else f"{value:,.2f}{NO_BREAK}s"


def kib(value: float | None) -> str:
    """Format bytes in KiB; less than one KiB in bytes."""
    if value is None or value < 1024:
        return number(value, "B")
    return f"{value / 1024:,.1f}".removesuffix(".0") + f"{NO_BREAK}KiB"


def span(low: str, high: str) -> str:
    """Format the range of two figures with units; one figure if they are equal."""
    (first, unit), (_, same) = low.rsplit(NO_BREAK, 1), high.rsplit(NO_BREAK, 1)
    return low if low == high else f"{first if unit == same else low} to {high}"


def figure(quantity: Mapping[str, Any]) -> str:
    """Format a quantity of the record (value, unit, uncertainty); value and uncertainty share a prefix.

    The standard uncertainty has two significant digits (GUM, JCGM 100:2008, section 7.2.6).
    """
    value, plus_minus, unit = parts(quantity)
    return f"{value} ± {plus_minus}{unit}" if plus_minus else f"{value}{unit}"


def in_unit(value: float, scale: float, uncertainty: float | None = None) -> str:
    """Format a value in the unit that its column names, `scale` large; without uncertainty to four digits."""
    scaled = value / scale
    if uncertainty:
        return " ± ".join(_rounded(scaled, uncertainty / scale))
    if not 1e-4 <= abs(scaled) < 1e9:
        return f"{scaled:.4g}"
    return f"{scaled:,.{max(0, 3 - math.floor(math.log10(abs(scaled))))}f}"


def amount(value: float, unit: str, uncertainty: float | None = None) -> str:
    """Format a figure so that small changes are seen: bytes and cycles in full, fractions in percent."""
    if unit in ("B", "cycle"):
        return number(round(value), unit)
    return (
        percent(value, uncertainty)
        if unit == "1"
        else figure({"value": value, "uncertainty": uncertainty, "unit": unit})
    )


def parts(quantity: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return value, uncertainty (empty without one) and unit of a quantity as `figure` formats them."""
    value, uncertainty, unit = quantity["value"], quantity["uncertainty"], quantity["unit"]
    scale, prefix = next((pair for pair in PREFIXES if abs(value) >= pair[0]), PREFIXES[-1])
    if not value:
        scale, prefix = PREFIXES[0]
    if not uncertainty:
        return f"{value / scale:,.4g}", "", f"{NO_BREAK}{prefix}{unit}"
    return *_rounded(value / scale, uncertainty / scale), f"{NO_BREAK}{prefix}{unit}"


def _rounded(value: float, uncertainty: float) -> tuple[str, str]:
    """Return value and standard uncertainty with the decimals that give the uncertainty two significant digits."""
    decimals = max(0, 1 - math.floor(math.log10(uncertainty)))
    return f"{value:,.{decimals}f}", f"{uncertainty:,.{decimals}f}"
