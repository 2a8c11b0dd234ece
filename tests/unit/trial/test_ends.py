"""How a trial ends when nobody has foreseen it: in a verdict, with all that was known by then."""

from __future__ import annotations

import contextlib
import errno
import shutil
import threading

import pytest

from hil.errors import Blocked, DeviceFault, RigError
from hil.rig_toml import Bench
from hil.trial import TrialSpec, Watch, run_trial

SPEC = TrialSpec("stm32h7b3", "cls1", steps=3, evaluate=0)


class Breaking:
    """A rig that gives no board, but this error."""

    def __init__(self, error):
        self.error, self.bench = error, Bench()

    @contextlib.contextmanager
    def take(self, *_):
        raise self.error
        yield


def run(tmp_path, error, spec=SPEC):
    """Return the outcome as `begun` and as `ended` got it."""
    seen = []
    watch = Watch(begun=lambda outcome: seen.append(outcome.verdict), ended=seen.append)
    ended = contextlib.suppress(KeyboardInterrupt, SystemExit)
    with ended:
        assert run_trial(spec, Breaking(error), tmp_path, watch=watch) is seen[1]
    assert seen[0] == "interrupted", "until it has ended, that is what would be true if it were killed"
    return seen[1]


def test_a_defect_of_the_rig_is_blocked_with_its_place_in_a_log(tmp_path):
    outcome = run(tmp_path, ZeroDivisionError("integer modulo by zero"))
    assert (outcome.verdict, outcome.stage) == ("blocked", "bench")
    assert (
        "ZeroDivisionError: integer modulo by zero" in outcome.reason
        and "report it with traceback.txt" in outcome.reason
    )
    trace = (tmp_path / "traceback.txt").read_text()
    assert (
        trace.startswith("Traceback")
        and "in take" in trace
        and trace.endswith("ZeroDivisionError: integer modulo by zero\n")
    )


def test_a_defect_outside_of_every_stage_has_its_traceback_too(tmp_path):
    def broken(outcome):
        raise KeyError("begun")

    outcome = run_trial(SPEC, Breaking(AssertionError("taken")), tmp_path, watch=Watch(begun=broken))
    assert outcome.verdict == "blocked" and "KeyError: 'begun'" in outcome.reason and "traceback.txt" in outcome.reason
    assert "in broken" in (tmp_path / "traceback.txt").read_text()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.EMFILE, "Too many open files", "MANIFEST.toml"), "Too many open files: MANIFEST.toml"),
        (MemoryError(), "no more memory"),
        (KeyError("x"), "KeyError"),
    ],
)
def test_what_cannot_be_looked_up_is_blocked(tmp_path, monkeypatch, error, said):
    def broken(*_):
        raise error

    monkeypatch.setattr("hil.training.trial.prepare.image_of", broken)
    outcome = run_trial(SPEC, Breaking(AssertionError("taken")), tmp_path)
    assert (outcome.verdict, outcome.stage) == ("blocked", "plan") and said in outcome.reason


def test_a_thread_that_cannot_be_started_is_the_computer_s(tmp_path):
    def start_thread(*_):
        before = threading.stack_size(1 << 46)  # more than there is of address space
        try:
            threading.Thread(target=print).start()
        finally:
            threading.stack_size(before)

    outcome = run_trial(SPEC, Breaking(AssertionError("taken")), tmp_path, watch=Watch(begun=start_thread))
    assert outcome.verdict == "blocked" and "gives the rig no more memory or threads" in outcome.reason


def test_a_defect_of_the_judge_is_a_verdict_too(tmp_path, monkeypatch):
    def broken(self):
        raise OverflowError("int too large")

    monkeypatch.setattr("hil.training.trial.outcome.Outcome.judge", broken)
    seen = []
    outcome = run_trial(SPEC, Breaking(Blocked("bench", "gone.")), tmp_path, watch=Watch(ended=seen.append))
    assert (outcome.verdict, outcome.stage, seen) == ("blocked", "judge", [outcome])
    assert "in broken" in (tmp_path / "traceback.txt").read_text()


def test_a_traceback_that_the_disk_does_not_take_costs_no_verdict(tmp_path):
    folder = tmp_path / "missing"
    outcome = run_trial(
        SPEC,
        Breaking(ZeroDivisionError("x")),
        folder,
        watch=Watch(stage=lambda stage: folder.exists() and shutil.rmtree(folder)),
    )
    assert outcome.verdict == "blocked" and "ZeroDivisionError: x" in outcome.reason


def test_what_the_rig_was_given_wrongly_is_blocked_with_its_own_sentence(tmp_path):
    outcome = run(tmp_path, RigError("rig.toml, line 3: no such meter."))
    assert (outcome.verdict, outcome.reason) == ("blocked", "rig.toml, line 3: no such meter.")


@pytest.mark.parametrize(
    ("error", "verdict"), [(Blocked("bench", "gone."), "blocked"), (DeviceFault("it hangs."), "fail")]
)
def test_the_verdict_follows_the_type(tmp_path, error, verdict):
    assert run(tmp_path, error).verdict == verdict


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_ctrl_c_is_an_interrupted_trial(tmp_path, error):
    outcome = run(tmp_path, error)
    assert outcome.verdict == "interrupted"
    assert "0 of 3 steps" in outcome.reason and "'bench'" in outcome.reason
    with pytest.raises(type(error)):
        run_trial(SPEC, Breaking(error), tmp_path)


def test_a_wrong_request_begins_nothing(tmp_path):
    seen = []
    spec = TrialSpec("stm32h7b3", "cls3")
    with pytest.raises(RigError, match="no variant"):
        run_trial(spec, Breaking(AssertionError("taken")), tmp_path, watch=Watch(begun=seen.append, ended=seen.append))
    assert seen == []


def test_what_does_not_fit_takes_no_board(tmp_path):
    seen = []
    spec = TrialSpec("stm32h7b3", "cls1", batch=256, settings={"scope": "batch"})
    outcome = run_trial(
        spec, Breaking(AssertionError("taken")), tmp_path, watch=Watch(begun=seen.append, ended=seen.append)
    )
    assert (outcome.verdict, outcome.stage, seen) == ("blocked", "plan", [outcome])
