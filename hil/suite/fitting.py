"""Trials of the bench tests that fit the board."""

from __future__ import annotations

import pytest

from hil.training.session.plugin import RunTrial
from hil.trial import TrialSpec, does_not_fit


def train(hil_trial: RunTrial, spec: TrialSpec) -> None:
    """Run a trial; skip if it does not fit the board."""
    reason = does_not_fit(spec)
    if reason:
        pytest.skip(reason)
    outcome = hil_trial(spec)
    assert outcome.verdict == "pass", outcome.reason
