"""After a difference: which layer went wrong first, and where in it.

One sample after the other is traced on both sides, layer by layer, forward and backward, with the weights that the
reference had in each pass. A stage that differs is the culprit. If none does, every pass is right for the weights it
was given, and the weights tell: where the loss terms agree, the passes had the right weights too, so an update went
wrong, and of back-propagated tensors the deepest is the first; where a loss term differs, the perturbation did, and of
the tensors that it touches the first one is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

from hil.errors import Blocked, RigError
from hil.link.failures import Refused
from hil.link.replies import Stepped
from hil.trial.device import Device
from hil.trial.difference import Difference, differing_tensors, differing_terms, first_weight

if TYPE_CHECKING:
    from hil.reference.methods import Method, Stage, StepOutcome
    from hil.trial.prepare import Prepared


@dataclass(frozen=True)
class WrongStep:
    """A step on which board and reference disagree.

    Attributes:
        step: its index.
        settings: those that hold for it.
        before: the reference's weights before it.
        images, labels: its batch.
        reply, outcome: what board and reference said.
    """

    step: int
    settings: Any
    before: list[np.ndarray]
    images: np.ndarray
    labels: np.ndarray
    reply: Stepped
    outcome: StepOutcome


def locate(device: Device, reference: Method, prepared: Prepared, wrong: WrongStep) -> Difference:
    """Return the first difference of a step, as far back towards its cause as the board lets itself be asked.

    Args:
        device: the board, after the wrong step.
        reference: the reference, after its right step.
        prepared: the trial.
        wrong: the step.
    """
    terms = differing_terms(wrong.reply, wrong.outcome)
    weight = _weight(device, reference, prepared, wrong, losses_agree=not terms)  # before the trace loads other weights
    try:
        traced = _trace(device, reference, prepared, wrong)
    except Blocked:
        raise
    except RigError:
        traced = None  # a board that cannot be traced any more still has its weights told
    if traced is not None:
        return traced
    if weight is not None:
        return weight
    name, ours, theirs = terms[0]
    return Difference(wrong.step, "loss", None, ours, theirs, name)


def _weight(
    device: Device, reference: Method, prepared: Prepared, wrong: WrongStep, losses_agree: bool
) -> Difference | None:
    """Fetch the tensor that went wrong first and name its first wrong element; None when all tensors agree."""
    tensors = differing_tensors(wrong.reply.digests, wrong.outcome.digests)
    if not tensors:
        return None
    index = prepared.subject.first_wrong(tensors, losses_agree)
    tensor = prepared.subject.tensors[index]
    try:
        ours = device.tensor(index, tensor.size)
    except Refused:  # a firmware that does not give its weights away has its digest told
        return Difference(wrong.step, tensor.name, None, "another digest", "its digest", "weight")
    return first_weight(wrong.step, tensor.name, ours, reference.weights[index])


def _trace(device: Device, reference: Method, prepared: Prepared, wrong: WrongStep) -> Difference | None:
    """Trace every sample of the batch with the weights of each pass; return the first element of the first stage that differs."""
    for weights in prepared.subject.traced(reference, wrong.before, wrong.step):
        prepared.subject.give(
            device, weights, prepared.subject.configuration(wrong.settings, prepared.slots, wrong.step)
        )
        for first in range(0, len(wrong.images), prepared.slots):
            part = slice(first, first + prepared.slots)
            found = _trace_slots(device, reference, prepared, weights, wrong, part)
            if found is not None:
                return found
    return None


def _trace_slots(
    device: Device, reference: Method, prepared: Prepared, weights: Sequence[np.ndarray], wrong: WrongStep, part: slice
) -> Difference | None:
    """Trace the samples that the board holds at a time."""
    images, labels = wrong.images[part], wrong.labels[part]
    device.samples(images, labels)
    for slot in range(len(images)):
        stages = reference.trace(weights, images, labels, slot)
        for index, (stage, digest) in enumerate(zip(stages, device.trace(slot, len(stages)), strict=True)):
            if prepared.subject.shows(index) and xxhash.xxh32_intdigest(stage.data) != digest:
                return _element(wrong.step, part.start + slot, stage, device.stage(slot, index, len(stage.data)))
    return None


def _element(step: int, slot: int, stage: Stage, board: bytes) -> Difference:
    """Name the first element of a stage that differs; its exponent counts as the element behind the last value."""
    what = f"sample {slot} of the batch, {stage.what} of"
    ours, theirs = np.frombuffer(board[:-2], np.int8), np.frombuffer(stage.data[:-2], np.int8)
    different = np.flatnonzero(ours != theirs)
    if different.size:
        index = int(different[0])
        return Difference(step, stage.layer, index, int(ours[index]), int(theirs[index]), what)
    exponents = [int.from_bytes(data[-2:], "little", signed=True) for data in (board, stage.data)]
    return Difference(
        step,
        stage.layer,
        None,
        exponents[0],
        exponents[1],
        f"sample {slot} of the batch, exponent of the {stage.what} of",
    )
