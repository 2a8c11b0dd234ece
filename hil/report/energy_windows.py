"""The table of energy windows on the page, with the same corrections as the figures above it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from hil.energy.step_budget import GROSS, IDLE, NET, energies

UNVERIFIED = "data sheet is unverified"  # in the flags of hil/energy/step_energy.py


@dataclass(frozen=True)
class WindowRow:
    """Energies of one window in joules, without the meter's own consumption, and its number of readings."""

    net: float
    idle: float
    gross: float
    readings: int


def window_rows(energy: Mapping[str, Any]) -> list[WindowRow]:
    """Return a row for each window; their means are the record's `net`, `idle` and `gross`."""
    windows: list[Any] = [SimpleNamespace(**window) for window in energy["windows"]]
    net, idle, gross = (energies(windows, figure) for figure in (NET, IDLE, GROSS))
    rows = zip(net, idle, gross, windows, strict=True)
    return [WindowRow(float(n), float(i), float(g), window.readings) for n, i, g, window in rows]


def burden_of(energy: Mapping[str, Any]) -> float:
    """Return the meter's own consumption that was subtracted from the gross energy, in joules, mean per window."""
    read = [window["gross"] for window in energy["windows"]]
    return float(np.mean(read) - np.mean([row.gross for row in window_rows(energy)]))


def flags_of(energy: Mapping[str, Any] | None) -> tuple[list[str], list[str]]:
    """Return the flags to show above the figure, and those about the meter's data sheet, which are folded."""
    flags = energy["flags"] if energy else []
    return [flag for flag in flags if UNVERIFIED not in flag], [flag for flag in flags if UNVERIFIED in flag]
