"""The word for where the figures of `hil measure` and `hil power` come from."""

from __future__ import annotations

from hil.measure.data_sheet import DataSheet
from hil.meters.by_hand import KEY
from hil.quantity import Provenance

VIRTUAL = "virtual"  # every virtual instrument of this project says so when it is asked who it is
MODELLED = "the meter is virtual: the figures are those of a model, and nothing was measured."


def provenance_of(sheet: DataSheet, identity: str) -> Provenance:
    """Return `declared` for readings by hand, `modelled` for a virtual instrument and `measured` for any other.

    Args:
        sheet: data sheet of the meter.
        identity: what the meter says of itself.
    """
    if sheet.key == KEY:
        return Provenance.DECLARED
    return Provenance.MODELLED if VIRTUAL in identity.lower() else Provenance.MEASURED
