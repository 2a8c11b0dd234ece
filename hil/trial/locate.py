"""After a difference: which layer went wrong first, and where in it.

If the loss terms agree, every forward pass was right, and the tensors speak for themselves: back-propagation runs
from the output to the input, so the deepest wrong tensor is the first, and
zeroth-order tensors stand alone. If a loss term differs, some layer's output did. Then the board gets the weights
that the reference had in that pass, and one sample is traced layer by layer on both sides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

from hil.errors import Blocked, RigError
from hil.network.blob import encode
from hil.trial.device import Device
from hil.trial.lockstep import Difference, StepLike, differing_tensors, differing_terms, first_weight

if TYPE_CHECKING:
    from hil.reference.methods import Method, Stage
    from hil.trial.run import Prepared


def locate(
    device: Device,
    reference: Method,
    prepared: Prepared,
    before: list[np.ndarray],
    images: np.ndarray,
    labels: np.ndarray,
    step: int,
    reply: dict[str, Any],
    outcome: StepLike,
) -> Difference:
    """Return the first difference of a step, as far back towards its cause as the board lets itself be asked.

    Args:
        device: the board, after the wrong step.
        reference: the reference, after its right step.
        prepared: the trial.
        before: the reference's weights before the step.
        images, labels: the batch of the step.
        step: its index.
        reply, outcome: what board and reference said.
    """
    trained = prepared.network.trained
    wrong = differing_tensors(reply["digests"], outcome.digests)
    terms = differing_terms(reply, outcome)
    if terms or any(index >= prepared.settings.partition for index in wrong):
        weight = _weight(device, reference, prepared, wrong, step) if wrong else None
        try:
            traced = _trace(device, reference, prepared, before, images, labels, step)
        except Blocked:
            raise
        except RigError:
            traced = None
        if traced is not None:
            return traced
        if weight is not None:
            return weight
        name, ours, theirs = terms[0]
        return Difference(step, "loss", None, ours, theirs, name)
    found = _weight(device, reference, prepared, wrong, step)
    return (
        found
        if found is not None
        else Difference(step, trained[wrong[0]].name, None, "another digest", "its digest", "weight")
    )


def _weight(device: Device, reference: Method, prepared: Prepared, wrong: list[int], step: int) -> Difference | None:
    """Fetch the tensor that went wrong first and name its first wrong element."""
    if not wrong:
        return None
    by_bp = [index for index in wrong if index >= prepared.settings.partition]
    index = by_bp[-1] if by_bp else wrong[0]
    layer = prepared.network.trained[index]
    return first_weight(step, layer.name, device.tensor(index, layer.weights.size), reference.weights[index])


def _trace(
    device: Device,
    reference: Method,
    prepared: Prepared,
    before: list[np.ndarray],
    images: np.ndarray,
    labels: np.ndarray,
    step: int,
) -> Difference | None:
    """Trace every sample of the batch with the weights of each pass; return the first element of the first stage that differs."""
    for weights in reference.passes(before, step):
        device.load(encode(prepared.network.with_weights(weights)))
        device.configure(prepared.settings)
        device.samples(images, labels)
        for slot in range(len(images)):
            stages = reference.trace(weights, images[slot], int(labels[slot]))
            for index, (stage, digest) in enumerate(zip(stages, device.trace(slot), strict=True)):
                if xxhash.xxh32_intdigest(stage.data) != digest:
                    return _element(step, slot, stage, device.stage(slot, index, len(stage.data)))
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
