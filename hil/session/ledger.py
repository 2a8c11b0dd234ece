"""The ledger of a session, in the process that writes the record: what was planned, what came of it, what is missing."""

from __future__ import annotations

import json
import shutil
import traceback
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from hil.errors import RigError, printable
from hil.record import AskedTest, RunWriter, TrialRecord, write_whole
from hil.record.writer import ENDED, INTERRUPTED
from hil.session import junit

EXIT_BLOCKED = 75  # sysexits.h, EX_TEMPFAIL: nothing was wrong with a board, but nothing could be told either
PLANNED = "planned.json"
JUNIT = "junit.xml"
NO_WORKER = "a worker process could not start, or ended at once ({}), so that no test ran: look for what ended it, such as a lack of memory, and run again."
PHASES = ("setup", "call", "teardown")


class Ledger:
    """A plugin of the session that takes the reports of all tests, of this process or of its workers, and keeps the record true to them.

    Args:
        run: the record.

    Attributes:
        missing: sentences on what is not in the record, and why.
        discarded: the run was none: the command line was wrong.
    """

    def __init__(self, run: RunWriter) -> None:
        self.run = run
        self.missing: list[str] = []
        self.discarded = False
        self._nodes: dict[str, AskedTest] = {}
        self._interrupted = ""
        self._stopped = ""

    def plan(self, planned: list[tuple[str, AskedTest]]) -> None:
        """Take the tests that ask for a trial, each with pytest's node id."""
        self._nodes |= dict(planned)
        self.run.plan(asked for _, asked in planned)
        self._save("results.json", self.run.update)

    def plan_of_workers(self) -> None:
        """Take the plan that a worker has written; all workers collect the same tests."""
        if self._nodes:
            return
        path = self.run.folder / PLANNED
        try:
            planned = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return self.miss("the list of tests: no worker could write it, those that did not run are in no record.")
        self.plan([(nodeid, AskedTest(**asked)) for nodeid, asked in planned])
        return None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a report of a test: that of its last phase has the verdict."""
        said: dict[str, Any] | None = getattr(report, "trainrig", None)
        if said is not None:
            for trial in said["trials"]:
                self.run.keep(TrialRecord(**trial))
            for sentence in said["missing"]:
                self.miss(sentence)
            self.run.end_test(AskedTest(**said["asked"]))
            self._save("results.json", self.run.update)
        elif report.when not in PHASES and report.nodeid in self._nodes:  # pytest-xdist: its worker is gone
            asked = self._nodes[report.nodeid]
            asked.reason, asked.outcome = f"{str(report.longrepr).strip()}.", "failed"
            self.run.end_test(asked)
            self._save("results.json", self.run.update)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Take what could not be collected: tests that nobody knows of."""
        if report.failed:
            self.miss(f"the tests of {report.nodeid or 'the session'}: they could not be collected, pytest's output has why.")

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Take what has ended the session early: a person, or pytest itself, such as after `-x`."""
        error, said = excinfo.value, str(excinfo.value)
        if type(error) is KeyboardInterrupt or isinstance(error, pytest.exit.Exception) or "keyboard-interrupt" in said:
            self._interrupted = said or "Ctrl-C"
        else:
            self._stopped = said

    def miss(self, sentence: str) -> None:
        """Note what is not in the record."""
        sentence = printable(sentence)
        if sentence not in self.missing:
            self.missing.append(sentence)

    def _save(self, what: str, save: Callable[[], object]) -> bool:
        """Write; where the disk does not take it, note that, for a verdict is worth more than its record."""
        try:
            save()
        except (OSError, RigError) as error:
            self.miss(f"{what}: {str(getattr(error, 'strerror', None) or error).rstrip('.')}.")
            return False
        return True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionstart(self) -> Generator[None, None, None]:
        """Keep a session whose worker of pytest-xdist ended before it answered from ending in a trace of pytest-xdist."""
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

    @pytest.hookimpl(wrapper=True, trylast=True)  # when the workers are gone and fixtures torn down, before the terminal's summary
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, None, None]:
        """Finish the record, after everything that still writes into it."""
        junit_path = junit.hold_back(session.config)
        try:
            yield
        finally:
            self._finish(session, junit_path)

    def _finish(self, session: pytest.Session, junit_path: str | None) -> None:
        """Write JUnit, record and report, and decide the exit code."""
        if session.exitstatus == pytest.ExitCode.USAGE_ERROR and not self.run.trials:
            self.discarded = True
            shutil.rmtree(self.run.folder, ignore_errors=True)
            return
        if session.exitstatus == pytest.ExitCode.INTERNAL_ERROR:
            self._interrupted = self._interrupted or "an internal error of pytest"
        self._close_tests(session)
        tests = self.run.tests
        if junit_path is not None and self._save(JUNIT, lambda: junit.write(session.config, junit_path, tests, self._node_ids())):
            self._keep_junit(Path(junit_path))
        session.exitstatus = self._exit_code(session, tests)
        self._finish_run(session)
        before = len(self.missing)
        self._render()
        if len(self.missing) > before:
            session.exitstatus = self._exit_code(session, tests)
            self._finish_run(session)

    def _close_tests(self, session: pytest.Session) -> None:
        """Say of the tests that never ran why they did not."""
        why = self._interrupted or self._stopped or session.shouldfail or session.shouldstop
        trials = {trial.folder: trial for trial in self.run.trials}
        for test in (test for test in self.run.tests if test.outcome is None):
            if test.trials:
                test.reason = trials[test.trials[-1]].reason or test.reason
            elif why:
                test.reason = f"it was not run: {why}."
            self.run.end_test(test)

    def _node_ids(self) -> dict[str, str]:
        return {asked.test: nodeid for nodeid, asked in self._nodes.items()}

    def _keep_junit(self, asked: Path) -> None:
        kept = self.run.folder / JUNIT
        if asked.resolve() != kept.resolve():
            self._save(JUNIT, lambda: shutil.copyfile(asked, kept))

    def _finish_run(self, session: pytest.Session) -> None:
        state = INTERRUPTED if self._interrupted else ENDED
        self._save("results.json", lambda: self.run.finish(state, int(session.exitstatus), self.missing))

    def _render(self) -> None:
        from hil.report import render  # late: it brings plotly, and no trial waits for that

        try:
            self._save("index.html", lambda: render(self.run.folder))
        except Exception as error:  # whatever is wrong with a page, the verdicts are printed
            self.miss(f"index.html: {type(error).__name__}: {error}: `hil report {self.run.folder.name}` in the folder of the runs tries again.")

    def _exit_code(self, session: pytest.Session, tests: list[AskedTest]) -> int:
        """Return 75 when nothing but blocked trials came of the tests that ran, else pytest's own; a record that is not whole is no success."""
        ran = [test for test in tests if test.outcome is not None and test.verdict != "skipped"]
        if session.exitstatus == pytest.ExitCode.TESTS_FAILED and {test.verdict for test in ran} == {"blocked"} and session.testsfailed == len(ran):
            return EXIT_BLOCKED
        if session.exitstatus == pytest.ExitCode.OK and self.missing:
            return pytest.ExitCode.TESTS_FAILED
        return session.exitstatus


def write_plan(folder: Path, planned: list[tuple[str, AskedTest]]) -> None:
    """Leave the plan of a worker for the process that began the run.

    Raises:
        OSError: the disk takes no more.
    """
    write_whole(folder / PLANNED, json.dumps([(nodeid, asked.model_dump()) for nodeid, asked in planned]))
