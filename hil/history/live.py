"""Send the trials of a run to its history while the run goes on, in a thread: the run never waits for the database.

What cannot be sent stays in the folder of the run, which is sent later (hil/history/unsent.py).
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from hil.errors import RigError, message_of
from hil.history.device_rows import device_rows
from hil.history.rows import asked_row, planned_row, run_row, trial_rows
from hil.history.unsent import Unsent
from hil.quick_imports import quick_imports
from hil.record import AskedTest, TrialRecord
from hil.record.device_test import DeviceTest
from hil.record.since_last_good import NO_ANSWER, SinceLastGood, nothing_known
from hil.threads import start

if TYPE_CHECKING:  # imported late, by the thread: SQLAlchemy takes as long to load as some trials
    from hil.history.store import Store, Writer

BEAT_S = 60.0  # between two signs of life of a run in which no test ends
FINISH_S = 10.0  # how long the end of a run waits, once, for a history that does not answer
IDLE_S = 1.0  # without a trial to send, after which the connection to a server is given back
OTHERS_S = 5.0  # how long the end of a run sends earlier runs
EVERYTHING, WRITTEN = "everything", "what could be written of it"
LATER = "the folder of the run has {}, and the next run or `hil history send` sends it"


class LiveHistory:
    """The history of a run that goes on.

    Args:
        url: of rig.toml; None for the file in the folder of the runs.
        run: folder of the run.
        facts: `run` of results.json, as far as it is known.
        attached: names of the boards of rig.toml for which no stand-in stands in this run.
    """

    def __init__(self, url: str | None, run: Path, facts: dict[str, Any], attached: Collection[str] = ()) -> None:
        self._url, self._run, self._facts, self._attached = url, run, dict(facts), attached
        self._jobs: queue.Queue[Callable[[], None] | None] = queue.Queue()
        self._thread: threading.Thread | None = None
        self._store: Store | None = None
        self._number: int | None = None  # of the run in the history
        self._trials: set[str] = set()  # folders of those that were sent
        self._planned: dict[str, AskedTest] = {}  # tests of a plan that was not sent, except those that have ended
        self._sent = False  # the history has everything
        self._failure = ""  # the first one; it is told only if something is still not sent at the end
        self._notes: list[str] = []
        self._wait_s = FINISH_S  # that the end of the run still may wait
        self._unsent = Unsent(run)
        try:
            self._unsent.begin()  # on the disk from now on: the history does not have this run yet
        except OSError as error:
            self._failure = f"the run could not be noted as unsent ({error.strerror or error})"

    def plan(self, tests: Sequence[AskedTest]) -> None:
        """Send which tests will run, so that others see how much is left."""
        found = {test.test: test for test in tests}

        def planned() -> None:
            self._planned = found
            self._sign_of_life()

        self._do(planned)

    def trial(self, record: TrialRecord | DeviceTest) -> None:
        """Send a trial or a device test that ended."""
        self._do(lambda: self._trial(record))

    def test(self, test: AskedTest) -> None:
        """Send the verdict of a test."""

        def ended() -> None:
            self._planned.pop(test.test, None)
            self._write(written)

        def written(writer: Writer, run: int) -> None:
            row = asked_row(test)
            writer.tests(run, [row])
            writer.unplan(run, row["test"])
            writer.heard(run, moved=True)

        self._do(ended)

    def discard(self) -> None:
        """Forget a run whose folder was deleted because it never began."""
        if self._thread is not None:  # its plan was sent
            self._do(lambda: self._write(lambda writer, run: writer.forget(run)))
            self._jobs.put(None)
            self._thread.join(self._wait_s)
        self._unsent.done()

    def since_last_good(
        self, facts: dict[str, Any], tests: Sequence[AskedTest], trials: Sequence[TrialRecord | DeviceTest]
    ) -> SinceLastGood:
        """Return what the history says of the run; a sentence only if it does not answer. It waits as `finish` does."""
        answers: queue.Queue[SinceLastGood | None] = queue.Queue()

        def ask() -> None:
            answer = None
            try:
                answer = self._compared(dict(facts), list(tests), list(trials))
            finally:
                answers.put(answer)

        self._do(ask)
        began, found = monotonic(), None
        if self._thread is not None:
            with contextlib.suppress(queue.Empty):
                found = answers.get(timeout=self._wait_s)
        self._wait_s = max(0.0, self._wait_s - (monotonic() - began))
        if found is None:
            return nothing_known(NO_ANSWER)
        return found

    def finish(
        self,
        facts: dict[str, Any],
        tests: Sequence[AskedTest],
        trials: Sequence[TrialRecord | DeviceTest],
        wait_s: float | None = None,
    ) -> list[str]:
        """Send how the run ended, and earlier runs that wait. Return a sentence for everything that went wrong.

        Args:
            facts: `run` of results.json.
            tests: all tests.
            trials: all trials and device tests, also those that did not end, of which no report came.
            wait_s: the longest that this takes if the history does not answer; None for what is left of FINISH_S.
        """
        wait_s = self._wait_s if wait_s is None else wait_s
        self._do(lambda: self._end(dict(facts), list(tests), list(trials)))
        self._jobs.put(None)
        if self._thread is not None:
            self._thread.join(wait_s)
            if self._thread.is_alive() and not self._sent:
                self._failure = (
                    self._failure or f"the history did not answer within {FINISH_S - self._wait_s + wait_s:.0f} s"
                )
        if self._sent:
            self._unsent.done()
            return self._notes
        self._unsent.release()  # from now on another process may send the run
        later = LATER.format(WRITTEN if facts.get("missing") else EVERYTHING)
        return [*self._notes, f"{self._failure.rstrip('.')}; {later}."]

    def _do(self, job: Callable[[], None]) -> None:
        """Give the thread a job; the first one starts it."""
        self._jobs.put(job)
        if self._thread is not None:
            return
        thread = threading.Thread(target=self._work, name="history", daemon=True)
        try:
            start(thread)
        except (MemoryError, RuntimeError) as error:
            self._failure = f"the history is not written ({message_of(error)})"
        else:
            self._thread = thread

    def _work(self) -> None:
        """Do the jobs, and let others hear of the run between them. An error costs a warning and never more."""
        while (job := self._next()) is not None:
            try:
                job()
            except Exception as error:
                self._close()
                self._trials.clear()  # a server that crashed may have lost what it had acknowledged
                self._failure = self._failure or _sentence(error)
        self._close()

    def _next(self) -> Callable[[], None] | None:
        """Return the next job, after a minute without one a sign of life.

        A run that waits for one keeps no connection: a server gives out 100.
        """
        with contextlib.suppress(queue.Empty):
            return self._jobs.get(timeout=IDLE_S)
        if self._store is not None:
            self._store.rest()
        with contextlib.suppress(queue.Empty):
            return self._jobs.get(timeout=BEAT_S)
        return self._sign_of_life

    def _sign_of_life(self) -> None:
        """Say that the run goes on, and what it will do, if that is not there yet."""
        self._write(self._beat)
        self._planned = {}

    def _beat(self, writer: Writer, run: int) -> None:
        writer.plan(run, [planned_row(test, self._attached) for test in self._planned.values()])
        writer.heard(run, moved=bool(self._planned))

    def _write(self, action: Callable[[Writer, int], object]) -> None:
        """Do one transaction on the run; open the history first if it is not open."""
        store = self._opened()
        with store.transaction() as writer:
            number = writer.run(run_row(self._facts, self._path)) if self._number is None else self._number
            action(writer, number)
        self._number = number

    def _trial(self, record: TrialRecord | DeviceTest) -> None:
        try:
            rows = device_rows(record) if isinstance(record, DeviceTest) else trial_rows(record)
        except RigError as error:
            self._notes.append(str(error))
            return
        if rows is None:
            return
        self._write(lambda writer, run: writer.trial(run, rows))
        self._trials.add(record.folder)

    def _compared(
        self, facts: dict[str, Any], tests: list[AskedTest], trials: list[TrialRecord | DeviceTest]
    ) -> SinceLastGood:
        """Send the run as far as it is known, and compare it with the nights before."""
        with quick_imports():
            from hil.history.queries import History
            from hil.history.since_last_good import since_last_good

        self._send_run(facts, tests, trials)
        assert self._store is not None
        return since_last_good(History(self._store, counted=False), run_row(facts, None)["uid"])

    def _end(self, facts: dict[str, Any], tests: list[AskedTest], trials: list[TrialRecord | DeviceTest]) -> None:
        """Send how the run ended and every trial that was not sent, then earlier runs."""
        from hil.history.send import send

        self._send_run(facts, tests, trials)
        self._write(lambda writer, run: writer.unplan(run))
        self._sent = True
        assert self._store is not None
        self._notes += send(self._store, self._run.parent, OTHERS_S).problems

    def _send_run(self, facts: dict[str, Any], tests: list[AskedTest], trials: list[TrialRecord | DeviceTest]) -> None:
        self._facts = facts
        for record in trials:
            if record.folder not in self._trials:
                self._trial(record)
        self._number = None  # so that the run is written again
        self._write(lambda writer, run: writer.tests(run, [asked_row(test) for test in tests]))

    def _opened(self) -> Store:
        with quick_imports():
            from hil.history.address import address_of
            from hil.history.store import open_to_write

        if self._store is None:
            self._store = open_to_write(address_of(self._url, self._run.parent), self._notes)
        return self._store

    @property
    def _path(self) -> str:
        return str(self._run.absolute())

    def _close(self) -> None:
        if self._store is not None:
            self._store.close()
        self._store = self._number = None


def _sentence(error: Exception) -> str:
    return str(error) if isinstance(error, RigError) else f"the history failed ({type(error).__name__}: {error})"
