"""Every failed request of a test fails the test, also one of a thread that ends while others are reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from hil.errors import RigError
from hil.record import AskedTest, TrialRecord
from hil.session.tracker import Tracker
from tests.history_records import record


def end_phase(tracker: Tracker) -> None:
    """Let a phase end well, as pytest does."""
    phase = tracker.run_phase(waits=True)
    next(phase)
    with pytest.raises(StopIteration):
        phase.send(None)


class EndsMeanwhile(list[TrialRecord]):
    """The trials of a test; a thread adds a blocked one as soon as those so far have been read."""

    def __getitem__(self, index):  # type: ignore[no-untyped-def,override]
        found = super().__getitem__(index)
        if not self:
            self.append(record(verdict="blocked", stage="serial", reason="the port is gone."))
        return found


def test_a_trial_that_a_thread_ends_while_the_setup_is_reported(tmp_path: Path) -> None:
    tracker = Tracker(AskedTest(test="test_mine.py::test_mine"), True, tmp_path, trials=EndsMeanwhile())
    end_phase(tracker)  # the setup
    assert len(tracker.trials) == 1
    with pytest.raises(pytest.fail.Exception, match=r"^blocked: the port is gone\. \(The test did not look"):
        end_phase(tracker)
    end_phase(tracker)  # it is reported once


def test_an_error_after_a_worse_failure_has_the_verdict_of_the_failure(tmp_path: Path) -> None:
    trials = [record(verdict="fail", reason="w differs.")]
    tracker = Tracker(AskedTest(test="test_mine.py::test_mine"), True, tmp_path, trials=trials)
    phase = tracker.run_phase(waits=True)
    next(phase)
    with pytest.raises(pytest.fail.Exception, match=r"^fail: w differs\.$"):
        phase.throw(RigError("the figure x was given before."))
