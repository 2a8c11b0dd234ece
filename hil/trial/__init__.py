"""One trial: flash, load, train in lock-step with the reference, measure, judge."""

from hil.trial.run import run_trial
from hil.trial.spec import TrialSpec

__all__ = ["TrialSpec", "run_trial"]
