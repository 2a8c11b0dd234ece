"""The stages of a sample as the agent traces them, at the first and at the trained weights, beside the reference's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xxhash

from hil.errors import DeviceFault
from hil.training.reference.methods import TracedStage
from hil.training.trial.agent_checks.refused import expect
from hil.training.trial.device import ALL_STAGES
from hil.training.trial.lockstep import LockStep


def check_traces(trial: LockStep) -> None:
    """Give the agent the first and then the trained weights; with each, compare digests and a traced sample."""
    prepared, slots, trained = trial.p, trial.p.slots, trial.reference.weights
    configuration = prepared.method.request.configuration(trial.settings, slots, trial.next_step)
    images, labels, _ = trial.next_batch()
    batch = images[:slots], labels[:slots]
    for weights in ([array for _, array in prepared.method.plan.arrays], trained):
        trial.device.send_weights(prepared.method.plan, weights, configuration)
        _compare_digests(trial, weights)
        for error, wrong in ((("slots_empty", 0, 0), 0), (("bad_slot", slots, slots), slots)):
            expect(trial.device, error, "trace", slot=wrong, stage=ALL_STAGES, offset=0)
        shown, stages = compare_trace(trial, weights, *batch)
        _fetch(trial, shown[-1], stages[shown[-1]], *batch)


def _compare_digests(trial: LockStep, weights: Sequence[np.ndarray]) -> None:
    held = [xxhash.xxh32_intdigest(stored(array)) for array in weights]
    for tensor, ours, theirs in zip(trial.p.method.plan.tensors, trial.device.digests(), held, strict=True):
        if ours != theirs:
            raise DeviceFault(
                f"the tensor {tensor.name} has the digest {ours:08X} after it was written, not {theirs:08X}."
            )


def compare_trace(
    trial: LockStep, weights: Sequence[np.ndarray], images: np.ndarray, labels: np.ndarray
) -> tuple[list[int], list[TracedStage]]:
    """Trace the last sample of a batch that the slots hold; return the stages that the board shows, and all stages.

    Raises:
        DeviceFault: a stage differs from that of the reference with `weights`.
    """
    device, prepared, slot = trial.device, trial.p, len(images) - 1
    stages = trial.reference.trace(weights, images, labels, slot)
    shown = [index for index in range(len(stages)) if prepared.method.request.shows(index)]
    device.samples(images, labels)
    digests = device.trace(slot, len(stages))
    for index in shown:
        if xxhash.xxh32_intdigest(stages[index].data) != digests[index]:
            what = f"{stages[index].what} of {stages[index].layer}"
            raise DeviceFault(f"the trace of a sample differs from the reference in the {what}.")
    return shown, stages


def _fetch(trial: LockStep, index: int, stage: TracedStage, images: np.ndarray, labels: np.ndarray) -> None:
    """Fetch a stage from its first byte and from its middle."""
    trial.device.samples(images, labels)  # a sample that is consumed is gone
    if trial.device.stage(len(images) - 1, index, len(stage.data)) != stage.data:
        raise DeviceFault(f"the {stage.what} of {stage.layer} are other bytes than their digest says.")


def stored(array: np.ndarray) -> bytes:
    """Return the bytes of a trained tensor as they lie on the board."""
    return array.astype(array.dtype.newbyteorder("<")).tobytes()
