"""What a trial found (docs/public-api.md)."""

from hil.training.trial.outcome import Outcome

__all__ = ["Outcome"]
