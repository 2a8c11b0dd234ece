"""Task-adaptive sparse training: choose the trained block on the device (PMT, section 3.3.1).

Each block that fits is trained for some steps from the same initial weights; the one with the highest gain of accuracy
on held-out samples is chosen. The board trains and classifies; all steps and logits are compared with the reference.
"""

from __future__ import annotations

from dataclasses import replace

from hil.errors import Blocked
from hil.training.data import DataSet
from hil.training.trial.device import Device
from hil.training.trial.fitting import BLOCKS, fit
from hil.training.trial.lockstep import LockStep
from hil.training.trial.lockstep_outcome import LockStepOutcome, TriedBlock
from hil.training.trial.prepare import Prepared, block_of
from hil.training.trial.spec import Selection
from hil.training.trial.stages import Watch


def select_block(outcome: LockStepOutcome, device: Device, wanted: Selection, watch: Watch) -> Prepared:
    """Try every block; return the trial with the one that gains most, the first of equals.

    A difference between board and reference ends the selection and is in the outcome.

    Raises:
        Blocked: no block fits.
    """
    prepared, chosen, best = outcome.prepared, None, TriedBlock(0)
    for block in BLOCKS:
        try:
            one = block_of(prepared, block)
            slots, planned = fit(one.spec, one.method, one.image.arena_size, one.plan.front)
        except Blocked as blocked:
            outcome.selection.append(TriedBlock(block, reason=blocked.reason))
            continue
        one = replace(one, slots=slots, plan=planned)
        tried = _try(one, block, device, outcome, wanted, watch)
        if outcome.difference is not None:
            return one
        outcome.selection.append(tried)
        if chosen is None or tried.gain > best.gain:
            chosen, best = one, tried
    if chosen is None:
        raise Blocked(
            "plan",
            f"no block of {prepared.spec.network_name} fits {prepared.spec.board}: {outcome.selection[0].reason}",
        )
    return chosen


def _try(
    one: Prepared, block: int, device: Device, outcome: LockStepOutcome, wanted: Selection, watch: Watch
) -> TriedBlock:
    spec = replace(one.spec, steps=wanted.steps, evaluate=wanted.held_out)
    of_block = replace(one, spec=spec, data=_held_out(one.data, wanted.held_out))
    own = LockStepOutcome(of_block, outcome.reality, outcome.clock_hz, outcome.figures)
    trial = LockStep(own, device, None, watch)
    trial.begin()
    trial.train()
    trial.evaluate()
    outcome.difference = own.difference
    before, after = (found.board if found is not None else None for found in (own.before, own.after))
    return TriedBlock(block, before, after, one.plan.total)


def _held_out(data: DataSet, count: int) -> DataSet:
    """Return the data set with its last training samples as its test samples."""
    return replace(
        data,
        train_images=data.train_images[:-count], train_labels=data.train_labels[:-count],
        test_images=data.train_images[-count:], test_labels=data.train_labels[-count:],
    )  # fmt: skip
