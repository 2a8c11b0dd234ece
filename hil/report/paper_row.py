"""One row of a comparison with a paper."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PaperFigure:
    """One figure of a paper next to that of the trial."""

    what: str
    paper: str
    here: str
    differs: str  # differences between the two settings
    path: str = ""  # of the trial's figure in the record; empty if several figures are shown
