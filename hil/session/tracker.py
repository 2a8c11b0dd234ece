"""Follow one test in the process that runs it: its trials, its device under test, its phases, its verdict."""

from __future__ import annotations

import contextlib
import re
import signal
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from hil.errors import NO_MEMORY, Blocked, RigError, printable, verdict_word
from hil.record import AskedTest, TrialRecord
from hil.record.device_test import DeviceTest
from hil.record.trial_writer import json_fields
from hil.record.verdicts import WORST_FIRST
from hil.refusals import watch_refusals
from hil.session.hidden_errors import error_of_rig, told_to_unittest
from hil.session.requests import Requests
from hil.session.run_state import BENCH, KEEPER, TRACKER

if TYPE_CHECKING:  # it takes the verdicts of errors from here
    from hil.session.device_use import DeviceUse

V = TypeVar("V", bound=str)  # a verdict
NO_TRIAL = "the test passed without running a trial: nothing was compared."
NO_FIGURE = (
    "the test has the marker budget, but gives no figure that it could be for: run a trial with hil_trial, "
    "or call hil_figure."
)
NOTHING_JUDGED = "the test passed, but read nothing from the device, and nothing was compared or judged."
NO_EXIT_CODES = (
    "SIGCHLD is ignored in the process of the tests, so that the system discards the exit codes of programs and of "
    "stand-ins: a test has called signal.signal(SIGCHLD, SIG_IGN), restore SIG_DFL there."
)
# pytest's sentence of a fixture that asks for one of a narrower scope (`_pytest/fixtures.py`).
WRONG_SCOPE = re.compile(
    r"ScopeMismatch: You tried to access the function scoped fixture (?P<name>\w+) with a (?P<scope>\w+) scoped request"
)
OF_ONE_TEST = frozenset(
    {"hil_dut", "hil_duts", "hil_board", "hil_compare", "hil_figure", "hil_device_use", "expect_learning", "hil_trial"}
)
LONGER_THAN_A_TEST = (
    "a fixture of the scope {scope!r} asks for {name}, which belongs to one test: leave scope={scope!r} out of that "
    "fixture, so that each test has its own."
)
STRICT = "[XPASS(strict)]"  # pytest's word for a test that passed, which a strict mark expects to fail
MISTAKES = (TypeError, AttributeError, NameError)
TEST_IS_WRONG = "the test itself is wrong"  # nobody should look at the board (hil/report/judgement.py knows it)
RIG_VERDICTS = ("blocked", "refused")  # an xfail mark does not expect these


@dataclass(frozen=True)
class TestPhase:
    """One phase of a test as pytest reported it.

    `why` is one line, `seconds` its time; `mistake` says that it ended by a mistake in the file of the test.
    """

    when: str
    outcome: str
    xfail: bool
    why: str
    seconds: float
    mistake: bool = False


@dataclass
class Tracker:
    """The state of one test."""

    entry: AskedTest  # the test as it was planned
    uses_rig: bool  # set when the test first uses a fixture of the rig, if not known before
    folder: Path  # of the run
    budgeted: bool = False  # whether the test itself has the marker `budget`
    requests: Requests = field(init=False)  # of this attempt
    trials: list[TrialRecord] = field(default_factory=list)  # of all attempts
    missing: list[str] = field(default_factory=list)  # sentences that say what the disk did not take
    notes: list[str] = field(default_factory=list)  # sentences about the history, which change no verdict
    unrecorded: list[tuple[str, str]] = field(default_factory=list)  # of requests without a trial
    device: DeviceUse | None = None  # of this attempt, once the test uses `hil_dut` or compares
    device_tests: list[DeviceTest] = field(default_factory=list)  # of all attempts
    _attempt: int = 0  # index of the first trial of this attempt; a plugin may repeat a test
    _reported: tuple[int, int] = (0, 0)  # trials and other requests whose failure the test has already reported
    _error: tuple[str, str] | None = None  # verdict and reason of an error of the rig
    _stage: str = ""  # at which that error blocked the test
    _phases: list[TestPhase] = field(default_factory=list)
    _runs: bool = False  # whether a phase does: a report that comes meanwhile is that of a subtest

    def __post_init__(self) -> None:
        self.requests = Requests(self.folder, self.entry.test)

    def begin(self) -> None:
        """Begin an attempt of the test."""
        self._attempt = len(self.trials)
        self._error, self._phases, self.unrecorded = None, [], []
        self._stage, self.device = "", None
        self.requests = Requests(self.folder, self.entry.test)
        self._take_failures()

    def note(self, error: RigError) -> None:
        """Note the error of a request without a trial, in any process: the test may catch it."""
        verdict, reason = verdict_of(error)
        if verdict != "refused" or not self.requests.refuse(reason):
            self.unrecorded.append((verdict, reason))

    def note_beside(self, where: str, error: BaseException) -> None:
        """Note the error that ended a thread or a future of the test, which nobody else looks at."""
        first = str(error).strip().partition("\n")[0]
        verdict, reason = (
            verdict_of(error) if isinstance(error, RigError) else ("fail", f"{type(error).__name__}: {first}")
        )
        self._take_refusals()
        if not any(reason == known for _, known in self._bad()):  # of a request that the rig has noted itself
            self.unrecorded.append((verdict, f"{where}: {reason}"))

    def count(self, record: TrialRecord | DeviceTest, config: pytest.Config) -> None:
        """Count a trial or a device test for the quarantine of its board; note why that is not known, if it is not."""
        keeper, named = config.stash[KEEPER], config.stash[BENCH].find(record.board or "")
        at_place = named is not None and (named.wanted_place is not None or named.id is not None)
        record.quarantine = keeper.ended(record, at_place)
        if keeper.problem and keeper.problem not in self.notes:
            self.notes.append(keeper.problem)

    def run_phase(
        self, waits: bool, is_call: bool = False, hidden: Sequence[BaseException] = ()
    ) -> Generator[None, Any, Any]:
        """Wrap a phase: turn an error of the rig into one sentence, and fail the test if a request of it failed.

        Args:
            waits: whether a phase that ends well waits for the trials of the test's threads. (The fixture `hil_trial`
                waits in any case, when it ends.)
            is_call: whether this is the test function: when it ends well, its comparisons are complete.
            hidden: takes the errors that unittest does not raise; the phase has ended with the first one.

        Raises:
            pytest.fail.Exception: with the sentence.
        """
        try:
            self._runs = True
            try:
                result = yield
                if hidden:
                    raise hidden[0]
            finally:
                self._runs = False
        except pytest.skip.Exception:
            self._check_requests(waits)
            raise
        except BaseException as error:
            self._note_wrong_scope(error)
            of_rig = self._of_rig(error)
            if of_rig is not None:
                self._fail_with(of_rig)
            bad, caught = self._take_failures()
            if isinstance(error, (KeyboardInterrupt, SystemExit, pytest.exit.Exception)):
                self.requests.interrupt()
                self._record_so_far(bad + caught)
            raise
        if is_call:
            self._end_function()
        self._check_requests(waits)
        return result

    def _note_wrong_scope(self, error: BaseException) -> None:
        """Fail the test if a fixture that lives longer than one test asks for one of the rig that does not."""
        found = WRONG_SCOPE.match(str(error)) if isinstance(error, pytest.fail.Exception) else None
        if found is not None and found["name"] in OF_ONE_TEST:
            self.uses_rig = True  # not known before if the fixture calls request.getfixturevalue
            self._fail_with(RigError(LONGER_THAN_A_TEST.format(**found.groupdict())))

    def _of_rig(self, error: BaseException) -> RigError | None:
        """Return the error of the rig by which a phase ended; None if it ended by another."""
        if not self.uses_rig:
            return None
        if isinstance(error, (MemoryError, SystemError)):  # the last: no memory to raise a MemoryError
            return Blocked("test", NO_MEMORY)
        if isinstance(error, StopIteration):  # of next(dut.lines(...)) after a program that ended
            return self.device.ended_early if self.device is not None else None
        return error_of_rig(error)

    def _end_function(self) -> None:
        """Note that the test function has ended well: its comparisons are complete, and so are its figures."""
        if self.device is not None:
            self.device.end_well(trials=bool(self.trials[self._attempt :]))
        if self.budgeted and not self.uses_rig:
            self.uses_rig = True  # so that the record has it
            self._fail_with(RigError(NO_FIGURE))
        if self.uses_rig and signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
            self._fail_with(Blocked("test", NO_EXIT_CODES))

    def _take_refusals(self) -> None:
        self.unrecorded += [("refused", sentence) for sentence in self.requests.new_refusals()]

    def _take_failures(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Return verdict and reason of the trials and of the other requests that failed since the last call.

        A thread of the test may end a trial meanwhile: only what is returned counts as reported.
        """
        self._take_refusals()
        (trials, others), seen = self._reported, (len(self.trials), len(self.unrecorded))
        self._reported = seen
        ended = self.trials[trials : seen[0]]
        bad: list[tuple[str, str]] = [(each.verdict, each.reason) for each in ended if each.verdict != "pass"]
        caught = self.unrecorded[others : seen[1]]
        return bad, caught + (self.device.unreported() if self.device is not None else [])

    def _fail_with(self, error: RigError) -> None:
        bad, caught = self._take_failures()
        self._error = verdict_of(error)
        self._stage = error.stage if isinstance(error, Blocked) else ""
        worst = worst_of([*bad, *caught, self._error])  # as `judge` says: one verdict, one sentence
        raise pytest.fail.Exception(": ".join(worst), pytrace=False) from None

    def _check_requests(self, waits: bool) -> None:
        """Fail if a request of this phase did not pass and the test did not fail because of it."""
        if not self.uses_rig:
            return
        if waits:
            self.requests.wait()
        bad, caught = self._take_failures()
        if bad or caught:
            verdict, reason = worst_of(bad + caught)
            why = "The test did not look at the verdict." if (verdict, reason) in bad else "The test did not report it."
            raise pytest.fail.Exception(f"{verdict}: {reason} ({why})", pytrace=False)

    def take(
        self, report: pytest.TestReport, call: pytest.CallInfo[None], said: str, raises: bool, mistake: bool
    ) -> None:
        """Take the report of a phase, and put the verdict into the report of the last one.

        `said` is the sentence by which `run_phase` failed it, `raises` says that an xfail mark names the exception
        that it expects, `mistake` that the phase ended by a mistake in the file of the test.
        """
        if self._runs and call.excinfo is not None and isinstance(call.excinfo.value, RigError):
            self.unrecorded.append(verdict_of(call.excinfo.value))  # of a subtest, which goes on after it
        if self._runs and self.uses_rig:
            report.duration = 0.0  # its seconds are of its test, and junit.xml would have them twice
        if self._runs and report.outcome != "failed" and not hasattr(report, "wasxfail"):
            return  # one that passed, or was left out, says nothing of the test
        verdict = said.partition(":")[0] or None
        if verdict is not None and report.outcome == "failed":
            report.longrepr = said  # unittest has put the error in its place, or a traceback of the rig
        xfailed = hasattr(report, "wasxfail") and report.outcome == "skipped"
        hidden = self._not_expected(verdict, call, raises) if xfailed else self._hidden(report)
        if hidden is not None:
            if xfailed:
                del report.wasxfail
            report.outcome, verdict, report.longrepr = "failed", hidden[0], ": ".join(hidden)
        xfail = hasattr(report, "wasxfail")
        why = _why(report, call)
        self._phases.append(
            TestPhase(report.when or "", report.outcome, xfail, why, max(0.0, report.duration), mistake)
        )
        report.trainrig_phase = verdict  # type: ignore[attr-defined]  # pytest sends it to the process that prints
        if report.when == "teardown" and self.uses_rig:
            test = self.judge()
            self._record_device(test)
            trials = [json_fields(trial) for trial in self.trials]  # xdist serializes only plain values
            result = {
                "test": test.model_dump(), "trials": trials, "missing": self.missing, "notes": self.notes,
                "refused": self.requests.refused, "device_tests": [json_fields(each) for each in self.device_tests],
            }  # fmt: skip
            report.trainrig = result  # type: ignore[attr-defined]
            report.user_properties = [*report.user_properties, *self._properties(test)]

    def _record_device(self, test: AskedTest) -> None:
        """Write what the test did with its device, with the verdict of this attempt."""
        if self.device is None:
            return
        seconds = round(sum(phase.seconds for phase in self._phases), 3)
        try:
            self.device_tests.append(self.device.record(test, self._stage, seconds))
        except (OSError, MemoryError, ImportError, Blocked) as error:  # no disk space, or no memory
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            self.missing.append(f"{self.device.folder.name}: {reason}.")
        self.missing += self.device.lost

    def _record_so_far(self, failed: list[tuple[str, str]]) -> None:
        """Write what the test has done with its device until it was interrupted: no report of it will come.

        What had `failed` by then decides the verdict.
        """
        if self.device is not None:
            verdict, reason = worst_of(failed) if failed else (self.entry.verdict, self.entry.reason)
            with contextlib.suppress(OSError, MemoryError, Blocked):  # then the record has what it had
                self.device.record_so_far(self.entry.model_copy(update={"verdict": verdict, "reason": reason}))

    def _not_expected(self, verdict: str | None, call: pytest.CallInfo[None], raises: bool) -> tuple[str, str] | None:
        """Return verdict and reason of a request that an xfail mark does not expect, None without one.

        A mark expects neither `blocked` nor `refused`. One that names an exception does not expect a failed trial,
        unless the test ended by an assertion, which may be about the trial.
        """
        if verdict is not None and self._error is not None and self._error[0] in RIG_VERDICTS:
            return self._error
        about = call.excinfo is None or isinstance(call.excinfo.value, (AssertionError, pytest.fail.Exception))
        hidden = RIG_VERDICTS if about or not raises else WORST_FIRST
        found = [each for each in self._bad() if each[0] in hidden]
        return worst_of(found) if found else None

    def _hidden(self, report: pytest.TestReport) -> tuple[str, str] | None:
        """Return verdict and reason of a request that did not pass and that a report says nothing of, None without one.

        `unittest` skips behind this class's back, and a hook of the project may rewrite reports.
        """
        if not self.uses_rig or report.outcome == "failed" or hasattr(report, "wasxfail"):
            return None
        said = any(phase.outcome == "failed" or (phase.xfail and phase.outcome == "skipped") for phase in self._phases)
        if said or (report.outcome != "skipped" and report.when != "teardown"):
            return None
        self._take_failures()  # they count as reported: the next phase does not fail because of them again
        found = self._bad()
        return worst_of(found) if found else None

    def _bad(self) -> list[tuple[str, str]]:
        """Return verdict and reason of every request of this attempt that did not pass."""
        trials = self.trials[self._attempt :]
        bad = [(each.verdict, each.reason) for each in trials if each.verdict != "pass"] + self.unrecorded
        return bad + (self.device.bad if self.device is not None else [])

    def judge(self) -> AskedTest:
        """Return the entry of the test with its verdict."""
        trials = self.trials[self._attempt :]
        failed = [phase for phase in self._phases if phase.outcome == "failed"]
        expected = [phase for phase in self._phases if phase.xfail and phase.outcome == "skipped"]
        skipped = [phase for phase in self._phases if phase.outcome == "skipped" and not phase.xfail]
        if failed or (expected and (trials or self.device is not None)):
            verdict, reason = self._worst(trials, (failed or expected)[0])
        elif any(trial.verdict != "pass" for trial in self.trials) and (skipped or expected):
            # an attempt before this one failed: a test that names a failed trial is not skipped
            verdict, reason = worst_of([(trial.verdict, trial.reason) for trial in self.trials])
        elif skipped or expected:
            compared = self.device.compared_so_far if self.device is not None else ""
            verdict, reason = "skipped", "; ".join(each for each in ((skipped or expected)[0].why, compared) if each)
        elif trials or (self.device is not None and self.device.judged):
            verdict, reason = "pass", ""
        else:
            verdict, reason = "skipped", NO_TRIAL if self.device is None else NOTHING_JUDGED
        ended = {
            "verdict": verdict,
            "reason": printable(reason),
            "outcome": self._outcome(failed, skipped),
            "expected": bool(expected and not failed),
            "trials": [trial.folder for trial in self.trials],
            "seconds": round(sum(phase.seconds for phase in self._phases), 3),
        }
        return self.entry.model_copy(update=ended)

    def _worst(self, trials: list[TrialRecord], phase: TestPhase) -> tuple[str, str]:
        """Return the worst verdict and its reason."""
        found = self._bad() + ([self._error] if self._error is not None else [])
        if found:
            return worst_of(found)
        before = ", after its trial passed" if trials else "" if self.device is not None else ", before it ran a trial"
        where = "" if phase.when == "call" else f" in its {phase.when}"
        return "fail", f"{TEST_IS_WRONG if phase.mistake else 'the test failed'}{where}{before}: {phase.why}"

    def _outcome(self, failed: list[TestPhase], skipped: list[TestPhase]) -> str:
        if failed:
            return "failed" if any(phase.when == "call" for phase in failed) else "error"
        xfail = [phase.outcome for phase in self._phases if phase.xfail]
        if xfail:
            return {"skipped": "xfailed", "passed": "xpassed"}[xfail[0]]
        return "skipped" if skipped else "passed"

    def _properties(self, test: AskedTest) -> list[tuple[str, object]]:
        """Return the properties of the test case in junit.xml."""
        trials = self.trials[self._attempt :]
        device = self.device_tests[-1:] if self.device is not None else []
        runs: list[TrialRecord | DeviceTest] = [*trials, *device]
        realities = ", ".join(dict.fromkeys(run.reality or "none" for run in runs)) or "none"
        found: list[tuple[str, object]] = [
            ("verdict", test.verdict),
            ("outcome", test.outcome or ""),
            ("board", test.board or ", ".join(dict.fromkeys(run.board for run in runs if run.board)) or "none"),
            ("reality", realities),
            ("stage", next((run.stage for run in runs if run.stage), "")),
            ("reason", test.reason),
            ("steps_compared", sum(run.steps_compared for run in runs)),
            ("trials", " ".join(trial.folder for trial in trials)),
        ]
        for each in device:
            found.append(("device_test", each.folder))
            found += [(f"judged.{number}", sentence) for number, sentence in enumerate(each.judged, 1)]
            for figure in each.figures:
                if figure["source"] == "hil_figure":  # the others are properties already
                    said = f"{figure['value']:.9g} {figure['unit']} ({figure['provenance']})"
                    found.append((f"figure.{figure['name']}", said))
        return found


def verdict_of(error: RigError) -> tuple[str, str]:
    """Return verdict and reason of an error that ends a test or a request."""
    reason = f"stage {error.stage!r}: {error.reason}" if isinstance(error, Blocked) else str(error)
    return verdict_word(error), f"{error.device}: {reason}" if error.device else reason


def worst_of(found: Sequence[tuple[V, str]]) -> tuple[V, str]:
    """Return the worst verdict with its reason, the first of several."""
    return min((each for each in found if each[0] in WORST_FIRST), key=lambda each: WORST_FIRST.index(each[0]))


def _sentence_of_rig(call: pytest.CallInfo[None]) -> str:
    """Return the sentence by which `Tracker.run_phase` failed a phase, which begins with the verdict; else empty."""
    if call.excinfo is None or not isinstance(call.excinfo.value, pytest.fail.Exception):
        return ""
    said = str(call.excinfo.value)
    return said if said.partition(":")[0] in WORST_FIRST else ""


def _is_mistake(call: pytest.CallInfo[None], file: Path) -> bool:
    """Return whether a phase ended by an error of the kind that only the code of the test makes, raised in its file."""
    if call.excinfo is None or not isinstance(call.excinfo.value, MISTAKES):
        return False
    return Path(call.excinfo.traceback[-1].path) == file


def _why(report: pytest.TestReport, call: pytest.CallInfo[None]) -> str:
    """Return one line that says why a phase ended."""
    if call.excinfo is None:  # a strict xfail that passed has only a longrepr
        first = str(report.longrepr or "").partition("\n")[0].strip()
        marked, _, reason = first.partition(STRICT)
        if first and not marked:
            return f"passed, but was expected to fail (xfail, strict): {reason.strip() or 'no reason given'}"
        return first
    if isinstance(call.excinfo.value, pytest.skip.Exception):
        return call.excinfo.value.msg or "skipped without a reason."
    if hasattr(report, "wasxfail") and report.outcome == "skipped":
        return f"expected to fail (xfail): {report.wasxfail or 'no reason given'}"
    lines = [line.strip() for line in call.excinfo.exconly(tryshort=True).splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].endswith(f"{call.excinfo.typename}:"):  # the message begins with a newline
        lines[0] = f"{lines[0]} {lines[1]}"
    return (lines or [call.excinfo.typename])[0]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """Begin to follow a test."""
    if TRACKER in item.stash:
        item.stash[TRACKER].begin()
    return (yield from _phase(item, waits=False))  # a fixture may let a trial run beside the test


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Follow the test function."""
    return (yield from _phase(item, waits=True, is_call=True))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    """Follow the teardown, where fixtures may run trials too."""
    return (yield from _phase(item, waits=True))


def _phase(item: pytest.Item, waits: bool, is_call: bool = False) -> Generator[None, Any, Any]:
    tracker = item.stash.get(TRACKER, None)
    if tracker is None:
        return (yield)
    with watch_refusals(tracker.note), told_to_unittest(item) as hidden:
        return (yield from tracker.run_phase(waits, is_call, hidden))


@pytest.hookimpl(wrapper=True, tryfirst=True)  # runs after pytest's own xfail handling
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the verdict into the report."""
    said = _sentence_of_rig(call)  # before unittest's own error takes its place
    report = yield
    if TRACKER in item.stash:
        raises = any("raises" in mark.kwargs for mark in item.iter_markers("xfail"))
        item.stash[TRACKER].take(report, call, said, raises, _is_mistake(call, item.path))
    return report


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    """Show a blocked test as blocked instead of failed, and a refused one as refused."""
    verdict = getattr(report, "trainrig_phase", None)
    if verdict == "blocked" and report.failed:
        return "blocked", "B", ("BLOCKED", {"yellow": True})
    if verdict == "refused" and report.failed:
        return "failed", "R", ("REFUSED", {"red": True})
    return None
