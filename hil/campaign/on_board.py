"""The weights of a board, by themselves: read from a checkpoint in its flash, or written to one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from hil.campaign.checkpoints import tensor_digests
from hil.errors import Blocked, DeviceFault, RigError
from hil.link.failures import Refused
from hil.link.replies import BoardCheckpoint
from hil.link.session import Session, fresh_nonce
from hil.rig import Rig
from hil.targets import open_target
from hil.trial.device import Device, refused
from hil.trial.outcome import step_digest
from hil.trial.prepare import Prepared


@contextlib.contextmanager
def ready(prepared: Prepared, rig: Rig, log: Path) -> Iterator[Device]:
    """Yield the board of a trial with network and settings, as before its first step.

    Raises:
        Blocked: the board cannot be reached, or is another.
        DeviceFault: its firmware refuses what it must take.
    """
    with rig.take(prepared.board, prepared.image, log) as taken:
        target = open_target(prepared.board, taken.endpoints, taken.probe_process)
        try:
            target.flash(prepared.image)
            device = Device(Session(target.port, fresh_nonce(), taken.alive), prepared.board, prepared.image)
            device.take_network(prepared.image, prepared.blob)
            device.configure(
                prepared.subject.configuration(prepared.settings, prepared.slots, prepared.spec.first_step)
            )
            yield device
        except Refused as refusal:
            raise refused(refusal) from refusal
        finally:
            target.close()


def slots_of(device: Device, board: str) -> list[BoardCheckpoint]:
    """Return the checkpoints in the flash of a board, the newest first.

    Raises:
        RigError: it has no slots for them.
    """
    room, slots = device.checkpoints()
    if not room:
        raise RigError(
            f"{board} has no flash for checkpoints that its firmware can write: its weights end with its session, take those of the host."
        )
    return slots


def read_weights(device: Device, prepared: Prepared, slot: BoardCheckpoint) -> list[np.ndarray]:
    """Return the tensors of a checkpoint of the board.

    Raises:
        RigError: it is of another network or variant.
        DeviceFault: what comes has another digest than the slot says.
    """
    try:
        device.load_checkpoint(slot)
    except Refused as refusal:
        if refusal.code != "no_checkpoint":
            raise
        spec = prepared.spec
        what = f"{spec.network} by {spec.method} {spec.variant}"
        raise RigError(
            f"checkpoint {slot.sequence} of {spec.board} is not of {what}: name the network and the variant that it is of."
        ) from refusal
    own = prepared.subject.reference().weights
    weights = [
        np.frombuffer(device.tensor(index, tensor.size), np.dtype(like.dtype).newbyteorder("<"))
        .astype(like.dtype)
        .reshape(like.shape)
        for index, (tensor, like) in enumerate(zip(prepared.subject.tensors, own, strict=True))
    ]
    if step_digest(tensor_digests(weights)) != slot.digest:
        raise DeviceFault(
            f"checkpoint {slot.sequence} of {prepared.spec.board} has the digest {slot.digest:08X}, its tensors have another: its firmware or its "
            "flash is at fault."
        )
    return weights


def check_board_has(device: Device, weights: Sequence[np.ndarray], board: str) -> int:
    """Compare the board's tensors with weights; return the digest of all.

    Raises:
        Blocked: they differ.
    """
    digests = tensor_digests(weights)
    if device.digests() != digests:
        raise Blocked("load", f"{board} says other digests than the weights have that it was given: load them again.")
    return step_digest(digests)
