"""The course of one test that asked for a trial, in the process that runs it: its trials, its phases, its verdict."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import pytest

from hil.errors import NO_MEMORY, Blocked, DeviceFault, RigError, printable
from hil.record import AskedTest, TrialRecord
from hil.record.trial_writer import plain

ASKS = {"hil_board", "hil_trial"}  # fixtures: a test that uses one asks for a trial
WORST = ("fail", "blocked", "refused", "interrupted")
NO_TRIAL = "the test passed without running a trial: nothing was compared."
RIG_ENDS = ("blocked", "refused")  # no mark of the test expects these


@dataclass(frozen=True)
class Phase:
    """One phase of a test as pytest reported it; `why` is one line."""

    when: str
    outcome: str
    xfail: bool
    why: str


@dataclass
class Course:
    """What is known of a test by now.

    Attributes:
        asked: the test as it was planned.
        asks: whether it asks for a trial; one that asks in its midst does so from then on.
        trials: records of its trials, of every attempt.
        missing: sentences on what the disk did not take of it.
    """

    asked: AskedTest
    asks: bool
    trials: list[TrialRecord] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    _attempt: int = 0  # index of the first trial of this attempt: a plugin may run a test again
    _answered: int = 0  # trials that a failure of the test has answered for
    _stopped: tuple[str, str] | None = None
    _phases: list[Phase] = field(default_factory=list)

    def begin(self) -> None:
        """The test begins, or begins again."""
        self._attempt = self._answered = len(self.trials)
        self._stopped, self._phases = None, []

    def ran(self) -> Generator[None, Any, Any]:
        """Run a phase: an error of the rig becomes one sentence, and a trial that failed fails its test whatever the test makes of it.

        Raises:
            pytest.fail.Exception: the sentence.
        """
        try:
            result = yield
        except RigError as error:
            if not self.asks:
                raise
            self._stop(error)
        except (MemoryError, SystemError):  # the second where Python itself had no memory to raise the first
            if not self.asks:
                raise
            self._stop(Blocked("test", NO_MEMORY))
        except pytest.skip.Exception:
            self._answer()
            raise
        except BaseException:
            self._answered = len(self.trials)
            raise
        self._answer()
        return result

    def _stop(self, error: RigError) -> None:
        self._answered = len(self.trials)
        if isinstance(error, Blocked):
            self._stopped = "blocked", f"stage {error.stage!r}: {error.reason}"
        else:
            self._stopped = "fail" if isinstance(error, DeviceFault) else "refused", str(error)
        verdict, reason = self._stopped
        raise pytest.fail.Exception(f"{verdict}: {reason}", pytrace=False) from None

    def _answer(self) -> None:
        """Fail where a trial of this phase did not pass and nothing has failed because of it."""
        bad = [trial for trial in self.trials[self._answered :] if trial.verdict != "pass"]
        self._answered = len(self.trials)
        if bad:
            raise pytest.fail.Exception(f"{bad[0].verdict}: {bad[0].reason} (The test did not look at the verdict.)", pytrace=False)

    def take(self, report: pytest.TestReport, call: pytest.CallInfo[None]) -> None:
        """Take the report of a phase; the last one gets the verdict, for whoever writes the record."""
        verdict = self._of_phase(report, call)
        if verdict in RIG_ENDS and hasattr(report, "wasxfail"):  # what the rig could not tell is not what the mark expects
            del report.wasxfail
            report.outcome = "failed"
        xfail = hasattr(report, "wasxfail")
        self._phases.append(Phase(report.when or "", report.outcome, xfail, _why(report, call)))
        report.trainrig_phase = verdict  # type: ignore[attr-defined]  # pytest carries it to the process that prints
        if report.when == "teardown" and self.asks:
            asked = self.judged()
            records = [plain(trial) for trial in self.trials]  # a worker sends plain numbers and lists only
            report.trainrig = {"asked": asked.model_dump(), "trials": records, "missing": self.missing}  # type: ignore[attr-defined]
            report.user_properties = [*report.user_properties, *self._properties(asked)]

    def _of_phase(self, report: pytest.TestReport, call: pytest.CallInfo[None]) -> str | None:
        """Return the verdict that this phase failed with, where the rig gave it."""
        if call.excinfo is None or not isinstance(call.excinfo.value, pytest.fail.Exception):
            return None
        word = str(call.excinfo.value).partition(":")[0]
        return word if word in WORST else None

    def judged(self) -> AskedTest:
        """Return the test with its verdict."""
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
            "verdict": verdict, "reason": printable(reason), "outcome": self._word(failed, skipped), "expected": bool(expected and not failed),
            "trials": [trial.folder for trial in self.trials],
        }  # fmt: skip
        return self.asked.model_copy(update=ended)

    def _worst(self, trials: list[TrialRecord], phase: Phase) -> tuple[str, str]:
        found = [(trial.verdict, trial.reason) for trial in trials if trial.verdict != "pass"]
        found += [self._stopped] if self._stopped is not None else []
        if found:
            return min(found, key=lambda each: WORST.index(each[0]))
        before = "after its trial passed" if trials else "before it ran a trial"
        where = "" if phase.when == "call" else f" in its {phase.when}"
        return "fail", f"the test failed{where}, {before}: {phase.why}"

    def _word(self, failed: list[Phase], skipped: list[Phase]) -> str:
        if failed:
            return "failed" if any(phase.when == "call" for phase in failed) else "error"
        xfail = [phase.outcome for phase in self._phases if phase.xfail]
        if xfail:
            return {"skipped": "xfailed", "passed": "xpassed"}[xfail[0]]
        return "skipped" if skipped else "passed"

    def _properties(self, asked: AskedTest) -> list[tuple[str, object]]:
        """Return what a testcase of JUnit tells."""
        trials = self.trials[self._attempt :]
        realities = ", ".join(dict.fromkeys(trial.reality or "none" for trial in trials)) or "none"
        compared = sum(trial.steps_compared for trial in trials)
        return [
            ("verdict", asked.verdict), ("reality", realities), ("reason", asked.reason), ("steps_compared", compared),
            ("trials", " ".join(trial.folder for trial in trials)),
        ]  # fmt: skip


def _why(report: pytest.TestReport, call: pytest.CallInfo[None]) -> str:
    """Return one line on what ended a phase."""
    if call.excinfo is None:
        return str(report.longrepr).partition("\n")[0] if report.longrepr else ""  # an XPASS that is one failure too many
    if isinstance(call.excinfo.value, pytest.skip.Exception):
        return call.excinfo.value.msg or "skipped without a reason."
    if hasattr(report, "wasxfail") and report.outcome == "skipped":
        return f"expected to fail (xfail): {report.wasxfail or 'no reason given'}"
    return (call.excinfo.exconly(tryshort=True).splitlines() or [call.excinfo.typename])[0]
