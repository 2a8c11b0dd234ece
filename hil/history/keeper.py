"""Keep a session's trials off boards in quarantine, and count the trials that the rig blocked.

A history that is away or does not answer costs no trial: then nothing is in quarantine, and one sentence says so.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from hil.errors import RigError, message_of
from hil.record import TrialRecord
from hil.threads import start

if TYPE_CHECKING:  # imported late, by the thread: SQLAlchemy takes as long to load as some trials
    from hil.history.store import Store, Writer

ANSWER_S = 10.0  # how long one trial of a session waits for a history that does not answer


class Keeper:
    """Quarantine in one process of a session.

    Args:
        url: of rig.toml; None for the file in the folder of the runs.
        reports: folder of the runs.
        bench: name of this bench.
        after: number of faults of the rig, one after the other, that put a board in quarantine; None for never.

    Attributes:
        problem: why the history cannot be asked, one sentence; empty as long as it can. It is not asked again then.
    """

    def __init__(self, url: str | None, reports: Path, bench: str, after: int | None) -> None:
        self._url, self._reports, self._bench, self._after = url, reports, bench, after
        self._store: Store | None = None
        self.problem = ""

    def __call__(self, board: str, place: str) -> str:
        """Return why no trial may run on an attached board, empty if it may (`hil.rig.Rig`)."""

        def ask(writer: Writer) -> str:
            from hil.history.health import key_of
            from hil.history.quarantine import find
            from hil.history.rows import name_of

            key = key_of(name_of(self._bench), name_of(board), name_of(place) if place else None)
            found = find(writer, key)
            return "" if found is None else found.sentence(key)

        return self._answer(ask)

    def ended(self, record: TrialRecord, at_place: bool) -> str:
        """Count a trial; return a sentence if its board is in quarantine now, else an empty text.

        Args:
            record: of the trial.
            at_place: rig.toml names a labgrid place for the board.
        """
        from hil.history.quarantine import STAGE, count, counts_as, key_of_trial

        if record.stage == STAGE:
            return record.reason
        fault = counts_as(record, at_place) if record.attached else None
        after = self._after
        if fault is None or after is None:
            return ""

        def counted(writer: Writer) -> str:
            key = key_of_trial(record, self._bench)
            found = count(writer, key, fault, record.reason, after, datetime.now(timezone.utc))
            return "" if found is None else found.sentence(key)

        return self._answer(counted)

    def close(self) -> None:
        """Close the history."""
        if self._store is not None and not self.problem:
            self._store.close()
            self._store = None

    def _answer(self, question: Callable[[Writer], str]) -> str:
        """Ask the history in a thread, and wait for it for a while."""
        if self.problem:
            return ""
        answers: queue.Queue[str] = queue.Queue()
        thread = threading.Thread(target=lambda: answers.put(self._asked(question)), name="quarantine", daemon=True)
        try:
            start(thread)
            return answers.get(timeout=ANSWER_S)
        except queue.Empty:
            self._give_up(f"the history did not answer within {ANSWER_S:g} s")
        except (MemoryError, RuntimeError) as error:
            self._give_up(message_of(error))
        return ""

    def _asked(self, question: Callable[[Writer], str]) -> str:
        """Ask in one transaction; never raises."""
        from hil.history.address import address_of
        from hil.history.store import Store

        try:
            if self._store is None:
                self._store = Store(address_of(self._url, self._reports))
            with self._store.transaction() as writer:
                return question(writer)
        except Exception as error:  # whatever it is: it costs the quarantine, and no trial
            said = str(error) if isinstance(error, RigError) else f"{type(error).__name__}: {error}"
            self._give_up(said)
            return ""

    def _give_up(self, why: str) -> None:
        self.problem = f"whether a board is in quarantine is not known: {why.rstrip('.')}."
