"""The words for where a figure comes from."""

from __future__ import annotations

from enum import Enum


class Provenance(str, Enum):
    """How a figure was had. The four are different words on purpose.

    measured: read from silicon or from an instrument. counted: events or bytes counted exactly, on whatever ran. modelled: a count turned into another quantity by a model. analytic: worked out on paper.
    """

    MEASURED = "measured"
    COUNTED = "counted"
    MODELLED = "modelled"
    ANALYTIC = "analytic"
