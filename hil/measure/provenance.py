"""Which word an energy carries: `measured` is of a real instrument at a real board, and of nothing else."""

from __future__ import annotations

from hil.quantity import Provenance

TWIN = "virtual"  # in what every virtual instrument says of itself


def word_of(reality: str, identity: str) -> Provenance:
    """Return the word of what an instrument read.

    Args:
        reality: of the board: `hardware`, or what stands in for it.
        identity: what the instrument says of itself.
    """
    real = reality == "hardware" and TWIN not in identity.lower()
    return Provenance.MEASURED if real else Provenance.MODELLED
