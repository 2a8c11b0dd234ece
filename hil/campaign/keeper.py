"""What is kept after every step: a line of the journal, and where one is due a checkpoint."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hil.campaign.checkpoints import Checkpoints
from hil.campaign.journal import Journal
from hil.errors import Blocked
from hil.trial.outcome import StepRow

if TYPE_CHECKING:
    from hil.campaign.board_slots import BoardSlots
    from hil.trial.lockstep import LockStep


class StopAsked(KeyboardInterrupt):
    """The campaign was asked to stop, and has come to the end of a step; all that it has is kept."""


class Keeper:
    """Args:
    journal: takes a line a step.
    checkpoints: take the weights.
    every: steps from one checkpoint to the next.
    end: index of the step after the last of the campaign.
    stop_asked: whether the campaign is to stop.
    """

    def __init__(
        self, journal: Journal, checkpoints: Checkpoints, every: int, end: int, stop_asked: Callable[[], bool]
    ) -> None:
        self._journal, self._checkpoints, self._every, self._end = journal, checkpoints, every, end
        self._stop_asked = stop_asked

    def agreed(self, trial: LockStep, board: BoardSlots) -> None:
        """Keep a step on which board and reference agree: on this computer, and where it is due on the board.

        Raises:
            StopAsked: the campaign was asked to stop.
            Blocked, OSError: as for `keep`.
        """
        stop = self.keep(trial.outcome.steps[-1], trial.reference.weights)
        if stop or board.due(trial.next_step) or trial.next_step == self._end:
            board.save(trial)
        if stop:
            raise StopAsked

    def keep(self, row: StepRow, weights: Sequence[np.ndarray]) -> bool:
        """Keep a step on this computer; return whether the campaign was asked to stop, for which it has a checkpoint then.

        The line is on the disk before the checkpoint: a journal that ends before its newest checkpoint has lost something.

        Args:
            row: of the step.
            weights: the trained tensors after it.

        Raises:
            Blocked: a step that is computed a second time has another digest than the first time.
            OSError: the disk takes no more.
        """
        known = self._journal.told.digest(row.step)
        if known is not None and known != row.digest:
            raise Blocked(
                "journal",
                f"step {row.step:,} has the digest {row.digest:08X} on both sides, and before the cut it had {known:08X}: a checkpoint, the memory of this "
                "computer, or a version of trainrig is another; start a new campaign.",
            )
        if row.step >= self._journal.told.next_step:
            losses = [
                loss if math.isfinite(loss) else None for loss in (row.loss_plus, row.loss_minus)
            ]  # JSON has no infinity
            self._journal.append("step", step=row.step, digest=f"{row.digest:08x}", loss=losses, sign=row.sign)
        stop, done = self._stop_asked(), row.step + 1
        if stop or done % self._every == 0 or done == self._end:
            self._journal.sync()
            self._checkpoints.write(done, weights)
        return stop

    def stage(self, _name: str) -> None:
        """Stop between two stages too: nothing is under way there."""
        if self._stop_asked():
            raise StopAsked
