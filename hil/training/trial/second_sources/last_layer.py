"""Measure the last layer as a network of its own, to check that the profile gives it the cycles of that layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hil.link.failures import Refused
from hil.training.trial.second_sources.checks import Profile
from hil.training.trial.second_sources.figures import ALONE, Figures

if TYPE_CHECKING:
    from hil.training.trial.device import Device
    from hil.training.trial.prepare import Prepared

SAMPLES = 4
# largest ratio of both cycle counts: data and loss differ; other layers differ by more (docs/reported-figures.md)
ALIKE = 4.0


def check_alone(figures: Figures, device: Device, prepared: Prepared, profile: Profile) -> None:
    """Train one step of the last layer alone and compare its cycles a sample with those of the trial's first step.

    Nothing is checked for a method whose last layer cannot be trained alone. The board loses the trial's network.
    """
    method = prepared.method
    alone, last = method.last_layer(SAMPLES), method.network.layers[-1]
    if alone is None:
        return
    pixels = np.random.default_rng(prepared.spec.seed).integers(0, 256, (SAMPLES, *alone.network.in_shape), np.uint8)
    try:
        device.load(alone.plan.file())
        device.configure(alone.request.configuration(alone.settings, SAMPLES, 0))
        device.samples(pixels, np.zeros(SAMPLES, np.uint8))
        device.step(0, SAMPLES)
        found = device.profile(1)
    except Refused:  # the firmware accepts one network only
        return
    if not found or len(found[0]) != 1:
        return
    figures.confirmed("profile", ALONE)
    reported = profile[0][-1] / (method.request.passes() * method.settings.batch)
    seen = found[0][0] / SAMPLES
    if not seen / ALIKE <= reported <= seen * ALIKE:
        figures.refuse(
            "profile",
            f"the agent reports {reported:,.0f} cycles a sample for layer {last.name} forward, "
            f"and {seen:,.0f} when that layer runs alone.",
        )
