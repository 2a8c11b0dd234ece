"""After every step, write a line into the journal, and a checkpoint if one is due."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hil.errors import Blocked
from hil.training.campaign.checkpoints import Checkpoints
from hil.training.campaign.journal import Journal
from hil.training.trial.lockstep_outcome import StepRow

if TYPE_CHECKING:
    from hil.training.campaign.board_slots import BoardSlots
    from hil.training.trial.lockstep import LockStep


class StopRequested(KeyboardInterrupt):
    """Stops the campaign between two steps, with everything saved, because the user requested it."""


class StepSaver:
    """Saves the steps of a campaign; `end` is the index of the step after its last one."""

    def __init__(
        self, journal: Journal, checkpoints: Checkpoints, every: int, end: int, stop_requested: Callable[[], bool]
    ) -> None:
        self._journal, self._checkpoints, self._every, self._end = journal, checkpoints, every, end
        self._stop_requested = stop_requested

    def agreed(self, trial: LockStep, board: BoardSlots) -> None:
        """Save a step on which board and reference agree: on this computer, and on the board if due.

        Raises:
            StopRequested: the campaign must stop.
            Blocked, OSError: as for `save`.
        """
        stop = self.save(trial.outcome.steps[-1], trial.reference.weights)
        if stop or board.due(trial.next_step) or trial.next_step == self._end:
            board.save(trial)
        if stop:
            raise StopRequested

    def save(self, row: StepRow, weights: Sequence[np.ndarray]) -> bool:
        """Save a step on this computer, with the weights after it if a checkpoint is due or the campaign must stop.

        The journal is synced before a checkpoint is written, so a journal that ends before its newest checkpoint has
        lost lines. Returns whether the campaign must stop.

        Raises:
            Blocked: the step was computed before, with another digest.
            OSError: the disk is full.
        """
        known = self._journal.state.digest(row.step)
        if known is not None and known != row.digest:
            raise Blocked(
                "journal",
                f"step {row.step:,} now has the digest {row.digest:08X} on both sides, but had {known:08X} before the "
                "interruption: a checkpoint is damaged, memory is faulty, or trainrig changed; start a new campaign.",
            )
        if row.step >= self._journal.state.next_step:
            # JSON has no infinity.
            losses = [loss if math.isfinite(loss) else None for loss in (row.loss_plus, row.loss_minus)]
            self._journal.append("step", step=row.step, digest=f"{row.digest:08x}", loss=losses, sign=row.sign)
        stop, done = self._stop_requested(), row.step + 1
        if stop or done % self._every == 0 or done == self._end:
            self._journal.sync()
            self._checkpoints.write(done, weights)
        return stop

    def stage(self, _name: str) -> None:
        """Stop between two stages of a trial, if the campaign must stop."""
        if self._stop_requested():
            raise StopRequested
