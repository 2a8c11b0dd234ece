"""Find the layer and element that went wrong first in a step.

Each sample is traced on both sides, layer by layer, forward and backward, with the weights that the reference had in
each pass. The first stage that differs is wrong. If none differs, every pass is right for its weights, and the weights
are compared. If the loss terms agree, an update is wrong, and the deepest of the back-propagated tensors is named. If a
loss term differs, the perturbation is wrong, and the first tensor that it changes is named.
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
from hil.training.trial.device import Device
from hil.training.trial.difference import (
    BoardDifference,
    differing_tensors,
    differing_terms,
    first_element,
    first_weight,
)

EXPONENT = np.dtype([("exponent", "<i2")])  # what comes after the values of a stage
SCALED = np.dtype([("scale", "<f4"), ("zero point", "<i2")])

if TYPE_CHECKING:
    from hil.training.reference.methods import MethodReference, StepOutcome, TracedStage
    from hil.training.trial.prepare import Prepared


@dataclass(frozen=True)
class WrongStep:
    """A step on which board and reference disagree; `before` are the reference's weights before it."""

    step: int
    settings: Any
    before: list[np.ndarray]
    images: np.ndarray
    labels: np.ndarray
    reply: Stepped
    outcome: StepOutcome


def locate(device: Device, reference: MethodReference, prepared: Prepared, wrong: WrongStep) -> BoardDifference:
    """Return the first difference of a step, as close to its cause as the board can be traced."""
    terms = differing_terms(wrong.reply, wrong.outcome)
    weight = _weight(device, reference, prepared, wrong, losses_agree=not terms)  # before tracing loads other weights
    try:
        traced = _trace(device, reference, prepared, wrong)
    except Blocked:
        raise
    except RigError:
        traced = None  # the board can no longer be traced: report its weights
    if traced is not None:
        return traced
    if weight is not None:
        return weight
    name, ours, theirs = terms[0]
    return BoardDifference(wrong.step, "loss", None, ours, theirs, name)


def _weight(
    device: Device, reference: MethodReference, prepared: Prepared, wrong: WrongStep, losses_agree: bool
) -> BoardDifference | None:
    """Return the first wrong element of the tensor that went wrong first; None if all tensors agree."""
    tensors = differing_tensors(wrong.reply.digests, wrong.outcome.digests)
    if not tensors:
        return None
    index = prepared.method.request.first_wrong(tensors, losses_agree)
    tensor = prepared.method.plan.tensors[index]
    try:
        ours = device.tensor(index, tensor.size)
    except Refused:  # the firmware does not send its weights: report the digest
        return BoardDifference(wrong.step, tensor.name, None, "another digest", "its digest", "weight")
    return first_weight(wrong.step, tensor.name, ours, reference.weights[index])


def _trace(device: Device, reference: MethodReference, prepared: Prepared, wrong: WrongStep) -> BoardDifference | None:
    """Trace all samples with the weights of each pass; return the first element that differs."""
    configuration = prepared.method.request.configuration(wrong.settings, prepared.slots, wrong.step)
    for weights in reference.passes(wrong.before, wrong.step):
        device.send_weights(prepared.method.plan, weights, configuration)
        for first in range(0, len(wrong.images), prepared.slots):
            part = slice(first, first + prepared.slots)
            found = _trace_slots(device, reference, prepared, weights, wrong, part)
            if found is not None:
                return found
    return None


def _trace_slots(
    device: Device,
    reference: MethodReference,
    prepared: Prepared,
    weights: Sequence[np.ndarray],
    wrong: WrongStep,
    part: slice,
) -> BoardDifference | None:
    """Trace the samples of one part of the batch."""
    images, labels = wrong.images[part], wrong.labels[part]
    device.samples(images, labels)
    for slot in range(len(images)):
        stages = reference.trace(weights, images, labels, slot)
        for index, (stage, digest) in enumerate(zip(stages, device.trace(slot, len(stages)), strict=True)):
            if prepared.method.request.shows(index) and xxhash.xxh32_intdigest(stage.data) != digest:
                return _element(wrong.step, part.start + slot, stage, device.stage(slot, index, len(stage.data)))
    return None


def _element(step: int, slot: int, stage: TracedStage, board: bytes) -> BoardDifference:
    """Return the first element of a stage that differs, or what comes after its values: exponent, or scale and zero."""
    sample = f"sample {slot} of the batch,"
    tail = SCALED if stage.scaled else EXPONENT
    ours, theirs = (np.frombuffer(data[: -tail.itemsize], stage.type) for data in (board, stage.data))
    found = first_element(ours, theirs)
    if found is not None:
        return BoardDifference(step, stage.layer, *found, f"{sample} {stage.what} of")
    own, expected = (np.frombuffer(data[-tail.itemsize :], tail)[0] for data in (board, stage.data))
    name = next((name for name in tail.names or () if own[name] != expected[name]), (tail.names or ("",))[-1])
    values = own[name].item(), expected[name].item()
    return BoardDifference(step, stage.layer, None, *values, f"{sample} {name} of the {stage.what} of")
