"""Keep the record of a session up to date, in the process that began the run."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable, Generator, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from _pytest.junitxml import LogXML

from hil.coverage.keep import keep_lines
from hil.errors import FOLDER_GONE, RigError, printable, short_path
from hil.history.live import LiveHistory
from hil.quick_imports import quick_imports
from hil.record import AskedTest, RunWriter, TrialRecord, write_atomic
from hil.record.device_test import DEVICE_TEST, DeviceTest
from hil.record.device_tests import write_device_test
from hil.record.run_writer import ENDED, INTERRUPTED, RESULTS_FILE
from hil.record.since_last_good import FILE as SINCE
from hil.record.since_last_good import write_since
from hil.record.sums import REFUSED_REQUESTS, SUMS
from hil.session import junit
from hil.session.held_interrupts import held_interrupts
from hil.session.requests import refused_requests
from hil.session.tracker import worst_of

EXIT_BLOCKED = 75  # EX_TEMPFAIL of sysexits.h: the rig could not tell, and no board failed
PLANNED = "planned.json"
JUNIT = "junit.xml"
NO_WORKER = (
    "a worker process could not start, or ended at once ({}), so that no test ran: "
    "look for what ended it, such as a lack of memory, and run again."
)
PHASES = ("setup", "call", "teardown")


class RunRecorder:
    """A pytest plugin object that takes the reports of all tests, also of workers, and updates the record."""

    def __init__(self, run: RunWriter, history: LiveHistory) -> None:
        self.run, self.history = run, history
        self.notes: list[str] = []  # sentences about the history, which change no verdict
        self.quarantine_notes: list[str] = []  # why it was not known which boards are in quarantine
        self.missing: list[str] = []  # sentences that say what is missing from the record, and why
        self.lines: dict[str, int] = {}  # of tests that have ended, in their files
        self.discarded = False  # the run was deleted because the command line was wrong
        self._nodes: dict[str, AskedTest] = {}
        self._refused: dict[str, int] = {}  # by test: requests in refused_requests.jsonl that its verdict knows of
        self._begun: set[str] = set()  # node ids
        self._interrupted = ""
        self._stopped = ""
        self._finished = False
        self._write_again: Callable[[], None] = lambda: None  # of junit.xml

    def plan(self, planned: list[tuple[str, AskedTest]]) -> None:
        """Take the tests that run trials, each with pytest's node id."""
        self._nodes |= dict(planned)
        self.run.plan(test for _, test in planned)
        self.history.plan([test for _, test in planned])
        self._save("results.json", self.run.update)

    def plan_of_workers(self) -> None:
        """Take the plan that a worker has written; all workers collect the same tests."""
        if self._nodes:
            return
        try:
            planned = json.loads((self.run.folder / PLANNED).read_text(encoding="utf-8"))
        except FileNotFoundError:
            self.miss("the list of tests: no worker could write it, so tests that did not run are not recorded.")
            return
        self.plan([(nodeid, AskedTest(**test)) for nodeid, test in planned])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note that a test begins, also in a worker."""
        self._begun.add(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the report of a phase; that of the last phase has the verdict."""
        result: dict[str, Any] | None = getattr(report, "trainrig", None)
        if result is not None:
            for fields in result["trials"]:
                trial = TrialRecord(**fields)
                self.run.keep(trial)
                self.history.trial(trial)
            for fields in result["device_tests"]:
                device = DeviceTest(**fields)
                self.run.keep_device_test(device)
                self.history.trial(device)
            for sentence in result["missing"]:
                self.miss(sentence)
            self.quarantine_notes += [each for each in result["notes"] if each not in self.quarantine_notes]
            test = AskedTest(**result["test"])
            self._refused[test.test] = result["refused"]
            if report.location[1] is not None:
                self.lines[test.test] = report.location[1] + 1  # pytest counts from 0
            self._end_test(test)
        elif report.when not in PHASES and report.nodeid in self._nodes:  # from pytest-xdist: the worker died
            test = self._nodes[report.nodeid]
            _take_worst_trial(test, self.run.trials)
            test.outcome = "failed"
            if test.verdict == "interrupted":
                test.reason = f"{str(report.longrepr).strip()}."
            self._end_test(test)

    def _end_test(self, test: AskedTest) -> None:
        self.run.end_test(test)
        self._save("results.json", self.run.update)
        self.history.test(test)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file whose tests could not be collected."""
        if report.failed:
            where = report.nodeid or "the session"
            self.miss(f"the tests of {where}: they could not be collected, see the output of pytest.")

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Note why the session ended early: interrupted by the user, or stopped by pytest, for example after `-x`."""
        error, text = excinfo.value, str(excinfo.value)
        if type(error) is KeyboardInterrupt or isinstance(error, pytest.exit.Exception) or "keyboard-interrupt" in text:
            self._interrupted = text or "Ctrl-C"
        else:
            self._stopped = text

    def miss(self, sentence: str) -> None:
        """Note what is missing from the record."""
        sentence = printable(sentence)
        if sentence not in self.missing:
            self.missing.append(sentence)

    def _save(self, what: str, save: Callable[[], object]) -> bool:
        """Write a file. If that fails, note it and go on, because the verdicts matter more than the record."""
        try:
            save()
        except (OSError, RigError) as error:
            if not self.run.folder.is_dir():
                self.miss(FOLDER_GONE.format(short_path(self.run.folder)))
                return False
            self.miss(f"{what}: {str(getattr(error, 'strerror', None) or error).rstrip('.')}.")
            return False
        return True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionstart(self) -> Generator[None, None, None]:
        """End with one sentence if a worker of pytest-xdist ended before it answered, not with a trace."""
        try:
            yield
        except (EOFError, OSError) as error:
            if not any("execnet" in Path(frame.filename).parts for frame in traceback.extract_tb(error.__traceback__)):
                raise
            self._interrupted = NO_WORKER.format(error)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> None:
        """End a session that has no workers, as Ctrl-C would: with its record."""
        if self._interrupted:
            raise session.Interrupted(self._interrupted)

    # After workers have ended and fixtures were torn down, before the summary in the terminal.
    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, None, None]:
        """Finish the record after all other writers."""
        junit_path = junit.suspend(session.config)
        try:
            yield
        finally:
            if isinstance(sys.exc_info()[1], KeyboardInterrupt):  # a second one, or one that came after the tests
                self._interrupted = self._interrupted or "Ctrl-C"
            with held_interrupts() as held:
                self._finish(session, junit_path)
                if held and not self.discarded:
                    self._interrupted = self._interrupted or "Ctrl-C"
                    self._finish_run(session, self.run.tests)

    def _finish(self, session: pytest.Session, junit_path: str | None) -> None:
        """Write JUnit file, record and report, and decide the exit code."""
        if session.exitstatus == pytest.ExitCode.USAGE_ERROR and not self.run.trials:
            self.discarded = True
            shutil.rmtree(self.run.folder, ignore_errors=True)
            self.history.discard()
            return
        if session.exitstatus == pytest.ExitCode.INTERNAL_ERROR:
            self._interrupted = self._interrupted or "an internal error of pytest"
        self._close_tests(self._interrupted or self._stopped or session.shouldfail or session.shouldstop)
        self._take_late_requests()
        tests = self.run.tests
        if not (self.run.folder / RESULTS_FILE).is_file():
            self.miss(FOLDER_GONE.format(short_path(self.run.folder)))
            session.exitstatus, self._finished = self._exit_code(session, tests), True
            return
        if junit_path is not None:
            xml = junit.writer_of(session.config)
            self._write_again = lambda: self._write_junit(xml, Path(junit_path), self.run.tests)
            self._write_again()
        self._finish_run(session, tests)
        before = len(self.missing)
        self._compare()
        elf = session.config.getoption("elf")
        self._save("coverage", lambda: keep_lines(self.run.folder, self.run.trials, elf))
        self._save(SUMS, self.run.sum_again)  # with what was written after results.json
        self._render()
        if len(self.missing) > before:
            self._finish_run(session, tests)
        facts = self.run.facts | {"missing": self.missing}
        away = self.history.finish(facts, self.run.tests, [*self.run.trials, *self.run.device_tests])
        self._finished = True
        self.notes += away or self.quarantine_notes  # who could not be written could not be asked either

    def _close_tests(self, why: str | bool) -> None:
        """Give verdict and reason to each test that did not end."""
        tests, trials = self.run.tests, self.run.trials
        devices = [each for each in self.run.device_tests if each.verdict != "interrupted"]
        begun = {test.test for nodeid, test in self._nodes.items() if nodeid in self._begun}
        for test in (test for test in tests if test.outcome is None):
            _take_worst_trial(test, [*trials, *devices])
            if why and not test.trials and test.verdict == "interrupted":
                what = "it was interrupted while it ran" if test.test in begun else "it was not run"
                test.reason = f"{what}: {why}."
            self.run.end_test(test)
            self._end_device_test(test)

    def _take_late_requests(self) -> bool:
        """Give the verdict `refused` to tests with refusals that their verdict does not know; return if there are any.

        They came after the test had ended, or the test was interrupted.
        """
        late = {test: lines[self._refused.get(test, 0) :] for test, lines in refused_requests(self.run.folder).items()}
        for test in self.run.tests:
            if not late.get(test.test):
                continue
            self._refused[test.test] = self._refused.get(test.test, 0) + len(late[test.test])
            if test.verdict in ("pass", "skipped", "interrupted"):
                test.verdict, test.reason = "refused", late[test.test][0]
                self.run.end_test(test)
                self._end_device_test(test)
        return any(late.values())

    def _end_device_test(self, test: AskedTest) -> None:
        """Give the record of what a test did with its device a verdict that is not known in the test itself."""
        attempts = [each for each in self.run.device_tests if each.test == test.test]
        if attempts:
            last = attempts[-1].model_copy(update={"verdict": test.verdict, "reason": test.reason, "judged": []})
            self.run.keep_device_test(last)
            self._save(f"{last.folder}/{DEVICE_TEST}", partial(write_device_test, self.run.folder, last))

    def end_early(self, why: str, code: int) -> bool:
        """Complete the record before a test ends the process; return False after the session, where nothing is left."""
        if self._finished:
            return False
        self._close_tests(why)
        self._take_late_requests()
        self._save("results.json", lambda: self.run.finish(INTERRUPTED, code, self.missing))
        return True

    def end_of_process(self) -> None:
        """At the exit of Python, after all threads: report requests that came after the session had ended.

        The exit code is decided by then. So the process ends here, with the code of a session with failed tests.
        """
        late = self._finished and not self.discarded and self._take_late_requests()
        with contextlib.suppress(OSError):
            (self.run.folder / REFUSED_REQUESTS).unlink(missing_ok=True)
        if not late:
            return
        bad = [test for test in self.run.tests if test.verdict == "refused"]
        with contextlib.suppress(OSError, RigError):
            self._write_again()
            (self.run.folder / SINCE).unlink(missing_ok=True)  # it says what the run was before
            self.run.finish(ENDED, int(pytest.ExitCode.TESTS_FAILED), self.missing)
            self._render()
        for test in bad:
            print(f"trainrig: refused: {test.test}: {test.reason}", file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(pytest.ExitCode.TESTS_FAILED)

    def _write_junit(self, xml: LogXML, path: Path, tests: list[AskedTest]) -> None:
        """Write the JUnit file, and copy it into the run's folder if it is elsewhere."""
        node_ids = {test.test: nodeid for nodeid, test in self._nodes.items()}
        kept, devices = self.run.folder / JUNIT, self.run.device_tests
        if (
            self._save(JUNIT, lambda: junit.write(xml, path, tests, node_ids, devices))
            and path.resolve() != kept.resolve()
        ):
            self._save(JUNIT, lambda: shutil.copyfile(path, kept))

    def _finish_run(self, session: pytest.Session, tests: list[AskedTest]) -> None:
        session.exitstatus = self._exit_code(session, tests)
        state = INTERRUPTED if self._interrupted else ENDED
        self._save("results.json", lambda: self.run.finish(state, int(session.exitstatus), self.missing))

    def _render(self) -> None:
        with quick_imports():
            from hil.report import render  # late: no trial must wait for it

        try:
            self._save("index.html", lambda: render(self.run.folder))
        except Exception as error:  # the verdicts must be printed even if the report fails
            again = f"`hil report {self.run.folder.name}` in the folder of the runs tries again"
            self.miss(f"index.html: {type(error).__name__}: {error}: {again}.")

    def _compare(self) -> None:
        """Write what the history says of the run. If that fails, the record is whole without it."""
        try:
            ran: list[TrialRecord | DeviceTest] = [*self.run.trials, *self.run.device_tests]
            since = self.history.since_last_good(self.run.facts, self.run.tests, ran)
            write_since(self.run.folder, since)
        except Exception as error:
            self.notes.append(f"what changed since the last good night is not known ({type(error).__name__}: {error}).")

    def _exit_code(self, session: pytest.Session, tests: list[AskedTest]) -> int:
        """Return 75 if all that ran was blocked, 1 if only the record shows what went wrong, else pytest's own code."""
        ran = [test for test in tests if test.outcome is not None and test.verdict != "skipped"]
        all_blocked = {test.verdict for test in ran} == {"blocked"} and session.testsfailed == len(ran)
        if session.exitstatus == pytest.ExitCode.TESTS_FAILED and all_blocked:
            return EXIT_BLOCKED
        lost = [test for test in tests if test.verdict in ("fail", "blocked", "refused") and not test.expected]
        if session.exitstatus == pytest.ExitCode.OK and self._interrupted:
            return pytest.ExitCode.INTERRUPTED
        if session.exitstatus == pytest.ExitCode.OK and (self.missing or lost):
            return pytest.ExitCode.TESTS_FAILED
        return session.exitstatus


RECORDER = pytest.StashKey[RunRecorder]()  # of the config, in the process that began the run


def _take_worst_trial(test: AskedTest, trials: Iterable[TrialRecord | DeviceTest]) -> None:
    """Give a test that did not end verdict and reason of its worst trial or device test, if one did not pass."""
    bad = [(each.verdict, each.reason) for each in trials if each.test == test.test and each.verdict != "pass"]
    if bad:
        test.verdict, test.reason = worst_of(bad)


def write_plan(folder: Path, planned: list[tuple[str, AskedTest]]) -> None:
    """Write the plan of a worker for the process that began the run.

    Raises:
        OSError: the disk is full.
    """
    write_atomic(folder / PLANNED, json.dumps([(nodeid, test.model_dump()) for nodeid, test in planned]))
