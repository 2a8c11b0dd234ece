"""Who looks on while a trial runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hil.trial.outcome import Outcome, StepRow

if TYPE_CHECKING:
    from hil.trial.lockstep import LockStep


def _nothing(*_: object) -> None:
    """Nobody looks."""


@dataclass(frozen=True)
class Watch:
    """Called as a trial goes on, from its own thread.

    Attributes:
        begun: takes the outcome when the request is known to be right and nothing has been touched; may raise Blocked.
        stage: takes the name of each stage as it begins: `plan`, `flash`, `load`, `train`, `evaluate`, ...
        step: takes every compared step.
        agreed: takes the trial after every step on which both sides agree: they then have the same weights.
        part: takes how much of a stage is done, and of how much.
        tell: takes a sentence for the person at the bench (a button to be pressed).
        ended: takes the outcome when the trial is over, also where Ctrl-C ended it.
    """

    begun: Callable[[Outcome], None] = _nothing
    stage: Callable[[str], None] = _nothing
    step: Callable[[StepRow], None] = _nothing
    agreed: Callable[[LockStep], None] = _nothing
    part: Callable[[int, int], None] = _nothing
    tell: Callable[[str], None] = _nothing
    ended: Callable[[Outcome], None] = _nothing
