"""One trial: flash, load, train in lock-step with the reference, measure, judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hil.training.trial.callbacks import Watch
from hil.training.trial.prepare import does_not_fit
from hil.training.trial.spec import EnergyWindows, LatencySteps, Selection, TrialSpec

if TYPE_CHECKING:
    from hil.training.trial.run import run_trial

__all__ = ["EnergyWindows", "LatencySteps", "Selection", "TrialSpec", "Watch", "does_not_fit", "run_trial"]


def __getattr__(name: str) -> Any:
    """Import `run_trial` on first use: planning a trial needs no probe, port or meter."""
    if name != "run_trial":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hil.training.trial.run import run_trial

    return run_trial
