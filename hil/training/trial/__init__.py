"""One trial: flash, load, train in lock-step with the reference, measure, judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil.door import door
from hil.training.trial.prepare import does_not_fit
from hil.training.trial.spec import EnergyWindows, LatencySteps, Selection, TrialSpec
from hil.training.trial.stages import Watch

if TYPE_CHECKING:
    from hil.training.trial.run import run_trial

__all__ = ["EnergyWindows", "LatencySteps", "Selection", "TrialSpec", "Watch", "does_not_fit", "run_trial"]
__getattr__ = door(__name__, {"run_trial": "run"})  # planning a trial needs no probe, port or meter
