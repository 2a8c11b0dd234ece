"""Check that the board sleeps when requested: its counter stops, and its power falls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hil.energy.step_energy import EnergyResult
from hil.training.trial.board_step import autonomous_run
from hil.training.trial.second_sources.figures import METER, Figures

if TYPE_CHECKING:
    from hil.training.trial.lockstep import LockStep

IDLE_MS = 20  # before and after the step
SILENCE_S = 10.0
SAME_POWER = 0.01  # of the power in steps: with a smaller difference, sleep and busy waiting look alike


def check_sleep(trial: LockStep) -> None:
    """Train one step with sleep before and after it, and check the sleep by probe and host's clock, if usable."""
    counter = trial.checks.counter if trial.checks.counter is not None and trial.checks.counter.sleeps else None
    if counter is None and trial.checks.host_clock is None:
        trial.outcome.figures.reported("sleep")
        return
    timed = trial.checks.timed(counter is not None)
    reply = autonomous_run(trial, 1, IDLE_MS, SILENCE_S, timed)
    if reply is not None:
        trial.checks.sleep(reply, timed, 2 * IDLE_MS)


def asleep_by_meter(figures: Figures, result: EnergyResult) -> None:
    """Compare the power in sleeps with that in steps, unless it scatters too much."""
    steps = np.array([window.active_power for window in result.windows])
    sleeps = np.array([window.idle_power for window in result.windows])
    if not (np.isfinite(steps).all() and np.isfinite(sleeps).all()):
        return
    rise, power = float(np.mean(steps - sleeps)), float(np.mean(steps))
    scatter = float(np.std(steps - sleeps, ddof=1)) if len(steps) > 1 else 0.0
    if scatter > SAME_POWER * power:
        return
    figures.confirmed("sleep", METER)
    if rise < SAME_POWER * power:
        figures.refuse(
            "sleep",
            f"the meter sees {power:.6g} W in the steps and {power - rise:.6g} W in the sleeps around them: "
            "the core does not sleep.",
        )
