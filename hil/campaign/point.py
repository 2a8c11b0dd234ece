"""Where a campaign goes on: from the newest good checkpoint that its journal does not contradict."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hil.campaign.checkpoints import Checkpoints
from hil.campaign.journal import Told


@dataclass(frozen=True)
class Point:
    """Where a campaign stands.

    Attributes:
        step: the step that is computed next.
        checkpoint: the weights before it; None at the very beginning.
        again: how many steps that the journal has are computed once more.
    """

    step: int
    checkpoint: Path | None
    again: int


def point_of(told: Told, checkpoints: Checkpoints) -> Point:
    """Return where to go on.

    A checkpoint counts when it is whole and its digest is the one that board and reference both had after the step before it. Where the journal does not
    have that step (its end was lost with the disk), the checkpoint's own digest must do: it was written only after both had agreed.
    """
    for found in checkpoints.good():
        known = told.digest(found.step - 1)
        if found.step > told.first_step and known in (None, found.digest):
            return Point(found.step, found.path, max(0, told.next_step - found.step))
    return Point(told.first_step, None, told.next_step - told.first_step)
