"""The energy windows as the page lists them: with the same corrections as the figures above them."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from hil.measure.budget import GROSS, IDLE, NET, energies

UNVERIFIED = (
    "data sheet is unverified"  # hil/measure/energy.py says so of figures that nobody has checked on the instrument
)


@dataclass(frozen=True)
class WindowRow:
    """Energies of one window in joules, less what the meter itself is taken to have used of them."""

    net: float
    idle: float
    gross: float
    readings: int


def window_rows(energy: dict[str, Any]) -> list[WindowRow]:
    """Return a row a window; the means over them are the record's `net`, `idle` and `gross`.

    Args:
        energy: the entry `energy` of a record.
    """
    windows = [SimpleNamespace(**window) for window in energy["windows"]]
    net, idle, gross = (energies(windows, figure) for figure in (NET, IDLE, GROSS))
    return [
        WindowRow(*map(float, row), window.readings) for *row, window in zip(net, idle, gross, windows, strict=True)
    ]


def burden_of(energy: dict[str, Any]) -> float:
    """Return what was taken off a window's gross energy for the meter itself, the mean over the windows, in joules."""
    read = [window["gross"] for window in energy["windows"]]
    return float(np.mean(read) - np.mean([row.gross for row in window_rows(energy)]))


def flags_of(energy: dict[str, Any] | None) -> tuple[list[str], list[str]]:
    """Return what a reader must know before the figure, and what the data sheet leaves open, which may be folded away."""
    flags = energy["flags"] if energy else []
    return [flag for flag in flags if UNVERIFIED not in flag], [flag for flag in flags if UNVERIFIED in flag]
