"""One line of a comparison with a paper."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One figure of the paper, what was found here, and what differs in the setting."""

    what: str
    paper: str
    here: str
    differs: str
