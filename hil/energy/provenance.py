"""Provenance of an instrument's readings: `measured` only for a real instrument on a real board."""

from __future__ import annotations

from hil.quantity import Provenance

VIRTUAL = "virtual"  # part of the identity of every virtual instrument of this project


def provenance_of(reality: str | None, identity: str) -> Provenance:
    """Return the provenance of readings.

    Args:
        reality: of the board: `hardware`, or the kind of its stand-in; None if none was chosen.
        identity: reply of the instrument to *IDN? or similar.
    """
    real = reality == "hardware" and VIRTUAL not in identity.lower()
    return Provenance.MEASURED if real else Provenance.MODELLED
