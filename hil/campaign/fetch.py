"""Fetch a checkpoint that the board alone has: where this computer has lost its own, or keeps them further apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hil.campaign.checkpoints import Checkpoints
from hil.campaign.journal import Told
from hil.campaign.on_board import read_weights, ready
from hil.rig import Rig
from hil.trial import TrialSpec
from hil.trial.prepare import prepare


def fetch(spec: TrialSpec, rig: Rig, folder: Path, campaign: int, told: Told, checkpoints: Checkpoints) -> bool:
    """Read the newest checkpoint of the board that is of this campaign, beyond where it stands, and has the digest that the journal has for its step.

    Args:
        spec: of the trial from where the campaign stands.
        rig: gives the board.
        folder: of the campaign; takes the log.
        campaign: its number.
        told: what the journal tells.
        checkpoints: take it.

    Returns:
        Whether there was one.

    Raises:
        RigError: the board cannot be reached, or its firmware is at fault.
        OSError: the disk takes no more.
    """
    prepared = prepare(replace(spec, evaluate=0))
    with ready(prepared, rig, folder / "fetch.log") as device:
        for slot in device.checkpoints()[1]:
            if slot.campaign == campaign and slot.step > spec.first_step and told.digest(slot.step - 1) == slot.digest:
                checkpoints.write(slot.step, read_weights(device, prepared, slot))
                return True
    return False
