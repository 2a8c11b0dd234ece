"""Follow one test in the process that runs it: its trials, its phases, its verdict."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import pytest

from hil.errors import NO_MEMORY, Blocked, DeviceFault, RigError, printable
from hil.record import AskedTest, TrialRecord
from hil.record.trial_writer import json_fields

WORST_FIRST = ("fail", "blocked", "refused", "interrupted")
NO_TRIAL = "the test passed without running a trial: nothing was compared."
RIG_VERDICTS = ("blocked", "refused")  # an xfail mark does not expect these


@dataclass(frozen=True)
class Phase:
    """One phase of a test as pytest reported it; `why` is one line, `seconds` its time."""

    when: str
    outcome: str
    xfail: bool
    why: str
    seconds: float


@dataclass
class Tracker:
    """The state of one test."""

    entry: AskedTest  # the test as it was planned
    runs_trials: bool  # set when the test first uses `hil_trial`, if not known before
    trials: list[TrialRecord] = field(default_factory=list)  # of all attempts
    missing: list[str] = field(default_factory=list)  # sentences that say what the disk did not take
    notes: list[str] = field(default_factory=list)  # sentences about the history, which change no verdict
    _attempt: int = 0  # index of the first trial of this attempt; a plugin may repeat a test
    _reported: int = 0  # number of trials whose failure the test has already reported
    _error: tuple[str, str] | None = None  # verdict and reason of an error of the rig
    _phases: list[Phase] = field(default_factory=list)

    def begin(self) -> None:
        """Begin an attempt of the test."""
        self._attempt = self._reported = len(self.trials)
        self._error, self._phases = None, []

    def run_phase(self) -> Generator[None, Any, Any]:
        """Wrap a phase: turn an error of the rig into one sentence, and fail the test if a trial of it failed.

        Raises:
            pytest.fail.Exception: with the sentence.
        """
        try:
            result = yield
        except RigError as error:
            if not self.runs_trials:
                raise
            self._fail_with(error)
        except (MemoryError, SystemError):  # Python raises the second if it has no memory to raise the first
            if not self.runs_trials:
                raise
            self._fail_with(Blocked("test", NO_MEMORY))
        except pytest.skip.Exception:
            self._check_trials()
            raise
        except BaseException:
            self._reported = len(self.trials)
            raise
        self._check_trials()
        return result

    def _fail_with(self, error: RigError) -> None:
        self._reported = len(self.trials)
        if isinstance(error, Blocked):
            self._error = "blocked", f"stage {error.stage!r}: {error.reason}"
        else:
            self._error = "fail" if isinstance(error, DeviceFault) else "refused", str(error)
        raise pytest.fail.Exception(": ".join(self._error), pytrace=False) from None

    def _check_trials(self) -> None:
        """Fail if a trial of this phase did not pass and the test did not fail because of it."""
        bad = [trial for trial in self.trials[self._reported :] if trial.verdict != "pass"]
        self._reported = len(self.trials)
        if bad:
            reason = f"{bad[0].verdict}: {bad[0].reason} (The test did not look at the verdict.)"
            raise pytest.fail.Exception(reason, pytrace=False)

    def take(self, report: pytest.TestReport, call: pytest.CallInfo[None]) -> None:
        """Take the report of a phase, and put the verdict into the report of the last one."""
        verdict = _rig_verdict(call)
        if verdict in RIG_VERDICTS and hasattr(report, "wasxfail"):
            del report.wasxfail
            report.outcome = "failed"
        xfail = hasattr(report, "wasxfail")
        why = _why(report, call)
        self._phases.append(Phase(report.when or "", report.outcome, xfail, why, max(0.0, report.duration)))
        report.trainrig_phase = verdict  # type: ignore[attr-defined]  # pytest sends it to the process that prints
        if report.when == "teardown" and self.runs_trials:
            test = self.judge()
            trials = [json_fields(trial) for trial in self.trials]  # xdist serializes only plain values
            result = {"test": test.model_dump(), "trials": trials, "missing": self.missing, "notes": self.notes}
            report.trainrig = result  # type: ignore[attr-defined]
            report.user_properties = [*report.user_properties, *self._properties(test)]

    def judge(self) -> AskedTest:
        """Return the entry of the test with its verdict."""
        trials = self.trials[self._attempt :]
        failed = [phase for phase in self._phases if phase.outcome == "failed"]
        expected = [phase for phase in self._phases if phase.xfail and phase.outcome == "skipped"]
        skipped = [phase for phase in self._phases if phase.outcome == "skipped" and not phase.xfail]
        if failed or (expected and trials):
            verdict, reason = self._worst(trials, (failed or expected)[0])
        elif skipped or expected:
            verdict, reason = "skipped", (skipped or expected)[0].why
        else:
            verdict, reason = ("pass", "") if trials else ("skipped", NO_TRIAL)
        ended = {
            "verdict": verdict,
            "reason": printable(reason),
            "outcome": self._outcome(failed, skipped),
            "expected": bool(expected and not failed),
            "trials": [trial.folder for trial in self.trials],
            "seconds": round(sum(phase.seconds for phase in self._phases), 3),
        }
        return self.entry.model_copy(update=ended)

    def _worst(self, trials: list[TrialRecord], phase: Phase) -> tuple[str, str]:
        """Return the worst verdict and its reason."""
        found: list[tuple[str, str]] = [(each.verdict, each.reason) for each in trials if each.verdict != "pass"]
        found += [self._error] if self._error is not None else []
        if found:
            return min(found, key=lambda each: WORST_FIRST.index(each[0]))
        before = "after its trial passed" if trials else "before it ran a trial"
        where = "" if phase.when == "call" else f" in its {phase.when}"
        return "fail", f"the test failed{where}, {before}: {phase.why}"

    def _outcome(self, failed: list[Phase], skipped: list[Phase]) -> str:
        if failed:
            return "failed" if any(phase.when == "call" for phase in failed) else "error"
        xfail = [phase.outcome for phase in self._phases if phase.xfail]
        if xfail:
            return {"skipped": "xfailed", "passed": "xpassed"}[xfail[0]]
        return "skipped" if skipped else "passed"

    def _properties(self, test: AskedTest) -> list[tuple[str, object]]:
        """Return the properties of the test case in junit.xml."""
        trials = self.trials[self._attempt :]
        realities = ", ".join(dict.fromkeys(trial.reality or "none" for trial in trials)) or "none"
        return [
            ("verdict", test.verdict),
            ("board", test.board or ", ".join(dict.fromkeys(trial.board for trial in trials)) or "none"),
            ("reality", realities),
            ("stage", next((trial.stage for trial in trials if trial.stage), "")),
            ("reason", test.reason),
            ("steps_compared", sum(trial.steps_compared for trial in trials)),
            ("trials", " ".join(trial.folder for trial in trials)),
        ]


TRACKER = pytest.StashKey[Tracker]()  # of a test item


def _rig_verdict(call: pytest.CallInfo[None]) -> str | None:
    """Return the verdict by which `Tracker.run_phase` failed a phase, if it did."""
    if call.excinfo is None or not isinstance(call.excinfo.value, pytest.fail.Exception):
        return None
    word = str(call.excinfo.value).partition(":")[0]
    return word if word in WORST_FIRST else None


def _why(report: pytest.TestReport, call: pytest.CallInfo[None]) -> str:
    """Return one line that says why a phase ended."""
    if call.excinfo is None:  # a strict xfail that passed has only a longrepr
        return str(report.longrepr).partition("\n")[0] if report.longrepr else ""
    if isinstance(call.excinfo.value, pytest.skip.Exception):
        return call.excinfo.value.msg or "skipped without a reason."
    if hasattr(report, "wasxfail") and report.outcome == "skipped":
        return f"expected to fail (xfail): {report.wasxfail or 'no reason given'}"
    return (call.excinfo.exconly(tryshort=True).splitlines() or [call.excinfo.typename])[0]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """Begin to follow a test."""
    if TRACKER in item.stash:
        item.stash[TRACKER].begin()
    return (yield from _phase(item))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Follow the test function."""
    return (yield from _phase(item))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    """Follow the teardown, where fixtures may run trials too."""
    return (yield from _phase(item))


def _phase(item: pytest.Item) -> Generator[None, Any, Any]:
    tracker = item.stash.get(TRACKER, None)
    return (yield from tracker.run_phase()) if tracker is not None else (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)  # runs after pytest's own xfail handling
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the verdict into the report."""
    report = yield
    if TRACKER in item.stash:
        item.stash[TRACKER].take(report, call)
    return report


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    """Show a blocked test as blocked instead of failed, and a refused one as refused."""
    verdict = getattr(report, "trainrig_phase", None)
    if verdict == "blocked" and report.failed:
        return "blocked", "B", ("BLOCKED", {"yellow": True})
    if verdict == "refused" and report.failed:
        return "failed", "R", ("REFUSED", {"red": True})
    return None
