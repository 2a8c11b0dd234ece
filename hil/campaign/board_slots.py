"""Checkpoints in the flash of the board: written beside those of the host, less often, for flash wears."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hil.campaign.journal import Journal
from hil.link.failures import Refused

if TYPE_CHECKING:
    from hil.trial.device import Device
    from hil.trial.lockstep import LockStep

EVERY = 1000  # steps: a slot is erased every 2,000, so that the 10,000 erases of a flash last for 20 million


class BoardSlots:
    """Args:
    journal: takes a line a checkpoint of the board.
    campaign: its number.
    every: steps from one to the next; 0 for none.
    tell: takes a sentence for the user.
    """

    def __init__(self, journal: Journal, campaign: int, every: int, tell: Callable[[str], None]) -> None:
        self._journal, self._campaign, self._every, self._tell = journal, campaign, every, tell
        self._device: Device | None = None  # the one that was asked whether it has slots
        self._given_up = every == 0

    def due(self, step: int) -> bool:
        """Whether one is due before a step."""
        return not self._given_up and step % self._every == 0

    def save(self, trial: LockStep) -> None:
        """Let the board write one; a board that cannot is not asked again, and the campaign goes on with those of the host."""
        if self._given_up or not self._has_slots(trial):
            return
        try:
            size = sum(tensor.size for tensor in trial.p.subject.tensors)
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
        self._tell(
            f"{trial.p.board.name} keeps no checkpoints ({reason}): the campaign has those of this computer only."
        )


def _reason(refusal: Refused) -> str:
    """Say why a board writes no checkpoint; raises the refusal where it is another matter."""
    if refusal.code == "flash_failed":
        return f"its flash failed at offset {refusal.a:,}"
    if refusal.code != "no_room":
        raise refusal
    return (
        f"the tensors have {refusal.a:,} bytes, a slot {refusal.b:,}"
        if refusal.b
        else "its network lies in the flash for them"
    )
