"""The last layer measured alone, as a network of its own: the cycles that the profile gives it are those of that layer, not of another one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hil.graph.ir import Op, chain
from hil.link.failures import Refused
from hil.trial.confirm.checks import Profile
from hil.trial.confirm.figures import ALONE, Figures
from hil.trial.subject.exponents import ExponentSubject

if TYPE_CHECKING:
    from hil.trial.device import Device
    from hil.trial.prepare import Prepared

SAMPLES = 4
ALIKE = 4.0  # times as long or as short: other data, and another loss with integers; the layers beside it differ by more (docs/reported-figures.md)


def check_alone(figures: Figures, device: Device, prepared: Prepared, profile: Profile) -> None:
    """Train one step of the last layer alone and compare its cycles a sample with those of the trial's first step.

    For a network of the first family that ends with a fully connected layer. The board forgets the trial's network.

    Args:
        figures: take what is found.
        device: the board, after all else.
        prepared: the trial.
        profile: cycles by layer of its first step.
    """
    subject = prepared.subject
    if subject.chosen or subject.network.layers[-1].op is not Op.FULLY_CONNECTED:
        return
    last = subject.network.layers[-1]
    shape = (1, 1, last.in_size)
    settings = replace(subject.settings, partition=0, batch=SAMPLES, scope="sample", loss="float", loss_fraction=0)
    alone = ExponentSubject(
        prepared.spec.method, chain((replace(last, name="fc1", in_shape=shape),), subject.network.classes), settings
    )
    pixels = np.random.default_rng(prepared.spec.seed).integers(0, 256, (SAMPLES, *shape), np.uint8)
    try:
        device.load(alone.file())
        device.configure(alone.configuration(settings, SAMPLES, 0))
        device.samples(pixels, np.zeros(SAMPLES, np.uint8))
        device.step(0, SAMPLES)
        found = device.profile(1)
    except Refused:  # a firmware that has one network only
        return
    if not found or len(found[0]) != 1:
        return
    figures.confirmed("profile", ALONE)
    told = profile[0][-1] / (subject.passes() * subject.settings.batch)
    seen = found[0][0] / SAMPLES
    if not seen / ALIKE <= told <= seen * ALIKE:
        figures.refuse(
            "profile",
            f"the agent reports {told:,.0f} cycles a sample for layer {last.name} forward, "
            f"and {seen:,.0f} where that layer is alone.",
        )
