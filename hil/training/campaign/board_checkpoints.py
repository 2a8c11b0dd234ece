"""Read and write the checkpoints in the flash of a board."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from hil.errors import Blocked, DeviceFault, RigError
from hil.link.failures import Refused
from hil.link.replies import BoardCheckpoint
from hil.rig import Rig
from hil.step_digest import step_digest
from hil.training.campaign.checkpoints import Checkpoints, tensor_digests
from hil.training.campaign.journal import JournalState
from hil.training.reference.methods import reference_of
from hil.training.trial import TrialSpec
from hil.training.trial.board import opened_board
from hil.training.trial.device import Device, refusals
from hil.training.trial.prepare import Prepared, prepare


@contextlib.contextmanager
def ready(prepared: Prepared, rig: Rig, folder: Path) -> Iterator[Device]:
    """Yield the board of a trial, flashed and configured as before its first step. `folder` is that of its logs.

    Raises:
        Blocked: the board cannot be reached, or is another.
        DeviceFault: the firmware refuses a valid request.
    """
    opened = opened_board(rig, prepared.board, prepared.image, folder)
    with opened as dut, dut.explained(), refusals(prepared.plan.total):
        dut.flash()
        device = Device(dut.agent, prepared.board, prepared.image)
        device.take_network(prepared.image, prepared.blob)
        first_step = prepared.spec.first_step
        configuration = prepared.method.request.configuration(prepared.settings, prepared.slots, first_step)
        device.begin(prepared.method.plan, configuration)
        yield device


def fetch_checkpoint(
    spec: TrialSpec, rig: Rig, folder: Path, campaign: int, journal: JournalState, checkpoints: Checkpoints
) -> bool:
    """Copy the newest usable checkpoint from the board to the host, and return whether the board has a newer one.

    A checkpoint is usable if it is of this campaign and has the digest that the journal has for its step. `spec` is
    the trial from the current step of the campaign on, `folder` that of the campaign, for the log.

    Raises:
        RigError: the board cannot be reached, or its firmware is at fault.
        OSError: the disk is full.
    """
    prepared = prepare(replace(spec, evaluate=0))
    with ready(prepared, rig, folder / "fetch") as device:
        for slot in device.checkpoints()[1]:
            newer = slot.campaign == campaign and slot.step > spec.first_step
            if newer and journal.digest(slot.step - 1) == slot.digest:
                checkpoints.write(slot.step, read_weights(device, prepared, slot))
                return True
    return False


def slots_of(device: Device, board: str) -> list[BoardCheckpoint]:
    """Return the checkpoints in the flash of a board, the newest first.

    Raises:
        RigError: the board has no slots for checkpoints.
    """
    room, slots = device.checkpoints()
    if not room:
        cure = "use the checkpoints of the host"
        raise RigError(f"{board} has no flash for checkpoints that its firmware can write: {cure}.")
    return slots


def read_weights(device: Device, prepared: Prepared, slot: BoardCheckpoint) -> list[np.ndarray]:
    """Return the tensors of a checkpoint of the board.

    Raises:
        RigError: it is of another network or variant.
        DeviceFault: the tensors do not have the digest of the slot.
    """
    spec = prepared.spec
    try:
        device.load_checkpoint(slot)
    except Refused as refusal:
        if refusal.code != "no_checkpoint":
            raise
        what = f"{spec.network_name} by {spec.method} {spec.variant}"
        cure = "name the network and variant of the checkpoint"
        raise RigError(f"checkpoint {slot.sequence} of {spec.board} is not of {what}: {cure}.") from refusal
    own = reference_of(prepared.method).weights
    weights = []
    for index, (tensor, like) in enumerate(zip(prepared.method.plan.tensors, own, strict=True)):
        data = np.frombuffer(device.tensor(index, tensor.size), np.dtype(like.dtype).newbyteorder("<"))
        weights.append(data.astype(like.dtype).reshape(like.shape))
    if step_digest(tensor_digests(weights)) != slot.digest:
        raise DeviceFault(
            f"the tensors of checkpoint {slot.sequence} of {spec.board} do not have its digest {slot.digest:08X}: "
            "its firmware or its flash is at fault."
        )
    return weights


def check_board_has(device: Device, weights: Sequence[np.ndarray], board: str) -> int:
    """Compare the board's tensors with weights, and return the digest of all tensors.

    Raises:
        Blocked: they differ.
    """
    digests = tensor_digests(weights)
    if device.digests() != digests:
        raise Blocked("load", f"the weights on {board} have other digests than those sent to it: load them again.")
    return step_digest(digests)
