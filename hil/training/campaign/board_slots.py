"""Checkpoints in the flash of the board, less frequent than those of the host, because flash wears out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hil.link.failures import Refused
from hil.training.campaign.journal import Journal

if TYPE_CHECKING:
    from hil.training.trial.device import Device
    from hil.training.trial.lockstep import LockStep

EVERY = 1000  # steps; each of two slots is erased every 2,000 steps, so 10,000 erase cycles last for 20 million steps


class BoardSlots:
    """Writes a checkpoint into the flash of the board every so many steps; 0 for none."""

    def __init__(self, journal: Journal, campaign: int, every: int, tell: Callable[[str], None]) -> None:
        self._journal, self._campaign, self._every, self._tell = journal, campaign, every, tell
        self._device: Device | None = None  # the device that was last asked for its slots
        self._given_up = every == 0

    def due(self, step: int) -> bool:
        """Return whether a checkpoint is due before a step."""
        return not self._given_up and step % self._every == 0

    def save(self, trial: LockStep) -> None:
        """Make the board write a checkpoint. If it cannot, tell the user, and do not ask again."""
        if self._given_up or not self._has_slots(trial):
            return
        try:
            size = sum(tensor.size for tensor in trial.p.method.plan.tensors)
            sequence = trial.device.save_checkpoint(self._campaign, trial.next_step, size)
        except Refused as refusal:
            self._give_up(trial, _reason(refusal))
        else:
            self._journal.append("board", step=trial.next_step, sequence=sequence)

    def _has_slots(self, trial: LockStep) -> bool:
        if trial.device is not self._device:
            self._device = trial.device
            if not trial.device.checkpoints()[0]:
                self._give_up(trial, "its firmware has no driver for a flash that can be written while it runs")
        return not self._given_up

    def _give_up(self, trial: LockStep, reason: str) -> None:
        self._given_up = True
        self._tell(f"{trial.p.board.name} keeps no checkpoints ({reason}): only this computer keeps them.")


def _reason(refusal: Refused) -> str:
    """Return why a board cannot write a checkpoint; raise any other refusal."""
    if refusal.code == "flash_failed":
        return f"its flash failed at offset {refusal.a:,}"
    if refusal.code != "no_room":
        raise refusal
    if refusal.b:
        return f"the tensors have {refusal.a:,} bytes, a slot {refusal.b:,}"
    return "its network file occupies the flash for checkpoints"
