"""Keep a session's trials off boards in quarantine, and count the trials that the rig blocked.

A history that is away or does not answer costs no trial: then nothing is in quarantine, and one sentence says so.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from hil.errors import QUARANTINE, RigError, message_of
from hil.history.answer import NoAnswer, answer_of
from hil.record import TrialRecord
from hil.record.device_test import DeviceTest
from hil.rig_toml import Bench

REPORTS = Path("reports")  # folder of the runs by default

if TYPE_CHECKING:  # imported late, by the thread: SQLAlchemy takes as long to load as some trials
    from hil.history.store import Store, Writer


class Keeper:
    """Quarantine in one process of a session, or in one command.

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

    @classmethod
    def of(cls, bench: Bench, reports: Path = REPORTS) -> Keeper:
        """Return the keeper of a bench, whose runs are in a folder."""
        return cls(bench.history.url, reports, bench.history.bench, bench.lab.quarantine_after)

    def __call__(self, board: str, place: str) -> str:
        """Return why no trial may run on an attached board, empty if it may (`hil.rig.Rig`).

        A history whose file is not there is not made.
        """

        def ask(writer: Writer) -> str:
            from hil.history.health import key_of
            from hil.history.quarantine import find
            from hil.history.rows import name_of

            key = key_of(name_of(self._bench), name_of(board), name_of(place) if place else None)
            found = find(writer, key)
            return "" if found is None else found.sentence(key)

        return self._answer(ask, make=False)

    def ended(self, record: TrialRecord | DeviceTest, at_place: bool) -> str:
        """Count a trial or a device test; return a sentence if its board is in quarantine now, else an empty text.

        Args:
            record: of it.
            at_place: rig.toml names a labgrid place for the board, or gives ids.
        """
        if record.stage == QUARANTINE:
            return record.reason
        after = self._after
        if after is None or not record.attached:
            return ""
        from hil.history.quarantine import count, counts_as, key_of_trial

        fault = counts_as(record, at_place)
        if fault is None:
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

    def __enter__(self) -> Keeper:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answer(self, question: Callable[[Writer], str], make: bool = True) -> str:
        """Return the answer of the history; an empty text if it gives none."""
        if self.problem:
            return ""
        try:
            return answer_of(lambda: self._asked(question, make), "quarantine")
        except NoAnswer as reason:
            self._give_up(str(reason))
        except (MemoryError, RuntimeError) as error:
            self._give_up(message_of(error))
        return ""

    def _asked(self, question: Callable[[Writer], str], make: bool) -> str:
        """Ask in one transaction; never raises."""
        from hil.history.address import address_of
        from hil.history.store import Store

        try:
            if self._store is None:
                address = address_of(self._url, self._reports)
                if not make and address.is_file and not address.path.exists():
                    return ""
                self._store = Store(address)
            with self._store.transaction() as writer:
                return question(writer)
        except Exception as error:  # whatever it is: it costs the quarantine, and no trial
            said = str(error) if isinstance(error, RigError) else f"{type(error).__name__}: {error}"
            self._give_up(said)
            return ""

    def _give_up(self, why: str) -> None:
        self.problem = f"whether a board is in quarantine is not known: {why.rstrip('.')}."
