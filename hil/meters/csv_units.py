"""Units of columns and of typed numbers, with the factor of each to SI units."""

from __future__ import annotations

PREFIXES = {"": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9, "k": 1e3}


def _prefixed(unit: str, factor: float = 1.0) -> dict[str, float]:
    return {prefix + unit: share * factor for prefix, share in PREFIXES.items()}


TIME_S = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}
ENERGY_J = _prefixed("J") | _prefixed("Wh", 3600.0)
VOLTAGE_V = _prefixed("V")
INVERTED = "inverted"  # of a marker that is low while the board works
# By what a column holds. The first unit of each kind is the unit of a column that names none.
COLUMNS = {
    "time": TIME_S,
    "current": _prefixed("A"),
    "voltage": VOLTAGE_V,
    "power": _prefixed("W"),
    "energy": ENERGY_J,
    "marker": {"": 1.0, INVERTED: -1.0},
}
WORDS = {"second": "s", "volt": "V", "ampere": "A", "amp": "A", "watt": "W", "joule": "J"}
WORDS |= {f"{name}s": symbol for name, symbol in WORDS.items()}
SYMBOLS = tuple(symbol for kind, units in COLUMNS.items() if kind != "marker" for symbol in units)


def plain_micro(text: str) -> str:
    """Return a text with `u` for each micro sign and each Greek mu."""
    return text.replace("\N{MICRO SIGN}", "u").replace("\N{GREEK SMALL LETTER MU}", "u")


def symbol_of(text: str) -> str:
    """Return the symbol of a unit in its correct case, or empty text: `mw` is mW, as megawatts do not occur."""
    text = plain_micro(text)
    return text if text in SYMBOLS else next((one for one in SYMBOLS if one.lower() == text.lower()), "")
