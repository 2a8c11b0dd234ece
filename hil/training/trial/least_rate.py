"""The smallest learning rate at which a trial would move a weight, for the warning of one that moved none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from hil.training.data import DataSet, batches
from hil.training.methods import Method
from hil.training.reference.methods import StepFailed, reference_of
from hil.training.trial.batch import Batch

GROWS, NEAR = 10.0, 1.02  # from try to try; where the two rates are equal in the two digits that are said
MOST_MACS = 20e9  # of the steps that are tried again: seconds in NumPy; beyond it `hil tune` is the cure
TRIES = 20  # or a few more


def least_rate(method: Method, data: DataSet, first_step: int = 0) -> float | None:
    """Return the smallest rate, to two digits, at which a weight moves in the first step that may move one.

    The reference trains the step again and again: a step that moves a weight also moves one at a larger rate.

    Args:
        method: on the weights before the step, with settings by which it moves none.
        data: whose training samples are in the order of a trial.
        first_step: of the trial.

    Returns:
        None without a learning rate, where no rate moves a weight, or where the steps would take long.
    """
    setting, settings = method.settings.table.get("eta"), method.settings
    count = 1 + method.request.ranking_steps(settings)
    if setting is None or count * method.figures.step_macs() * TRIES > MOST_MACS:
        return None
    chosen = islice(batches(data, settings.batch, settings.seed), first_step, first_step + count)
    its = [Batch(data.train_images[one], data.train_labels[one]) for one in chosen]
    still = largest = float(settings.eta)
    most = float(setting.most or math.inf)
    while not _moves(method, largest, its, first_step):
        if largest >= most:
            return None
        still, largest = largest, min(largest * GROWS, most)
    while largest > NEAR * still:
        middle = math.sqrt(still * largest)
        if _moves(method, middle, its, first_step):
            largest = middle
        else:
            still = middle
    return min(_rounded_up(largest), most)


def _moves(method: Method, rate: float, its: Sequence[Batch], first_step: int) -> bool:
    """Return whether steps at a rate change a trained number, or fail, which they do at too large a rate."""
    tried = replace(method, settings=replace(method.settings, eta=rate))
    learner = reference_of(tried)
    learner.configure(tried.settings, first_step)
    before = learner.digests()
    try:
        for images, labels, _ in its:
            learner.step(images, labels)
    except StepFailed:
        return True
    return learner.digests() != before


def _rounded_up(rate: float) -> float:
    """Return a rate in two digits, none below it."""
    unit = 10.0 ** (math.floor(math.log10(rate)) - 1)
    return float(f"{math.ceil(rate / unit) * unit:.2g}")
