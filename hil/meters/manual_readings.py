"""Readings of a meter without a data port: typed in from its display, or from a file (hil/meters/csv_file.py).

Their meter is identified as `typed in` or `from a file`. Their accuracy is what the user declares.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from hil.energy.capture import Capture, Edge
from hil.energy.data_sheet import READ_BY_HAND, CurrentRange, DataSheet
from hil.errors import RigError
from hil.meters.csv_text import LARGEST
from hil.meters.csv_units import plain_micro

TYPED_IN, FROM_FILE = "typed in", "from a file"


@dataclass(frozen=True)
class ReadingAccuracy:
    """Accuracy that the user declares: limits of error as a share of the reading, and of the current in amperes."""

    share: float
    offset_a: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.share < 1 or not 0 <= self.offset_a < 10:
            raise RigError(
                f"{self.share:g} of the reading and {self.offset_a:g} A are not an accuracy: declare a share between "
                "0 and 1, such as 0.01 for 1 %."
            )


@dataclass(frozen=True)
class Typed:
    """A typed number: its value, and the value of one unit of its last digit, both in SI units."""

    value: float
    last_digit: float


def typed(text: str, units: dict[str, float], what: str) -> Typed:
    """Read a number with its unit, such as `1.25 mWh`.

    Raises:
        RigError: it is not a number, not positive, or in another unit.
    """
    found = re.fullmatch(r"\s*(\d+(?:[.,](\d+))?)\s*([a-zA-Zµμ]+)\s*", text)
    unit = plain_micro(found[3]) if found else ""
    if not found or unit not in units:
        raise RigError(
            f"{text.strip()!r} is not a valid {what}: type a number and a unit ({', '.join(units)}), "
            f"such as {'1.25 mWh' if 'Wh' in units else '10.0 s'}."
        )
    value = float(found[1].replace(",", ".")) * units[unit]
    if not 0 < value < LARGEST:
        raise RigError(
            f"a {what} of {text.strip()} is {'not positive' if value <= 0 else 'too large'}: read the display again."
        )
    return Typed(value, 10.0 ** -len(found[2] or "") * units[unit])


def typed_capture(energy: Typed, duration: Typed, volt: float) -> Capture:
    """Return one reading: the mean power over the time that the meter counted, with an edge at either end.

    The uncertainty of the duration is half of its last digit, split between the two edges.
    """
    seconds, power = duration.value, np.array([energy.value / duration.value])
    amps = power / volt
    edges = tuple(Edge(at, duration.last_digit / 4, high) for at, high in ((0.0, True), (duration.value, False)))
    return Capture(np.zeros(1), power, amps, np.full(1, volt), seconds, seconds, edges, float(amps[0]), None)


def declared_sheet(identity: str, accuracy: ReadingAccuracy, capture: Capture, resolution_a: float = 0.0) -> DataSheet:
    """Return a data sheet of the declared accuracy; everything in it is `unverified`."""
    used = CurrentRange(capture.range_a, accuracy.share, accuracy.offset_a, resolution_a)
    return DataSheet(
        key=READ_BY_HAND, name="meter read by hand", identity=identity,
        kind="integrating" if capture.aperture_s else "point",
        apertures_s=(capture.aperture_s, capture.aperture_s), fastest_hz=1 / capture.interval_s, timestamps="host",
        marker="none", loss="none", feeds=False,
        timebase=0.0, voltage_gain=0.0, voltage_offset_v=0.0, ranges=(used,),
        unverified=("accuracy, as its user declares it",), sources=(),
    )  # fmt: skip
