"""Callbacks of a running trial."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # whoever plans a trial needs neither record nor history
    from hil.training.trial.lockstep import LockStep
    from hil.training.trial.lockstep_outcome import StepRow
    from hil.training.trial.outcome import Outcome


def _nothing(*_: object) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Watch:
    """Callbacks, called from the thread of the trial.

    Attributes:
        begun: with the outcome, after the request was checked and before any hardware is used; may raise Blocked.
        stage: with the name of each stage as it begins: `plan`, `flash`, `load`, `train`, `evaluate`, ...
        step: with every compared step.
        agreed: with the trial, after every step in which both sides agree and so have the same weights.
        part: with the completed and the total amount of work of a stage.
        power: with the mean power in watts of every good energy window.
        tell: with a sentence for the user, such as a button to press.
        ended: with the outcome at the end of the trial, also after Ctrl-C.
    """

    begun: Callable[[Outcome], None] = _nothing
    stage: Callable[[str], None] = _nothing
    step: Callable[[StepRow], None] = _nothing
    agreed: Callable[[LockStep], None] = _nothing
    part: Callable[[int, int], None] = _nothing
    power: Callable[[float], None] = _nothing
    tell: Callable[[str], None] = _nothing
    ended: Callable[[Outcome], None] = _nothing
