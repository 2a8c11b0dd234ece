"""The public names of a trial (docs/public-api.md). They are those of the training half, which must be installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hil.training.trial import EnergyWindows, LatencySteps, Selection, TrialSpec, Watch, does_not_fit

if TYPE_CHECKING:
    from hil.training.trial import run_trial

__all__ = ["EnergyWindows", "LatencySteps", "Selection", "TrialSpec", "Watch", "does_not_fit", "run_trial"]


def __getattr__(name: str) -> Any:
    """Import `run_trial` on first use: planning a trial needs no probe, port or meter."""
    if name != "run_trial":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hil.training.trial import run_trial

    return run_trial
