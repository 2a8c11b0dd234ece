"""One trial: flash, load, train in lock-step with the reference, measure, judge."""

from hil.trial.prepare import does_not_fit
from hil.trial.run import run_trial
from hil.trial.spec import EnergyWindows, LatencySteps, Selection, TrialSpec
from hil.trial.watch import Watch

__all__ = ["EnergyWindows", "LatencySteps", "Selection", "TrialSpec", "Watch", "does_not_fit", "run_trial"]
