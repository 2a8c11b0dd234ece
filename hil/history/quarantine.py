"""Boards in quarantine: those that failed as a rig, not as a device, several times one after the other.

The table `boards` counts, for each attached board, the trials one after the other that the rig blocked. It belongs to
no run, so that `hil history rebuild` leaves it alone. All computers that share the history share it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, select, update

from hil.errors import NO_MEMORY, printable
from hil.history.health import BoardKey, key_of
from hil.history.models import boards
from hil.history.queries import History
from hil.history.rows import name_of
from hil.history.store import Writer
from hil.record import TrialRecord
from hil.record.device_test import DeviceTest

BEFORE_THE_FIRMWARE = ("bench", "connect", "identity", "probe", "flash", "power")
OF_THE_RIG = (*BEFORE_THE_FIRMWARE, "greet", "link")
LONGEST_WHY = 160  # characters of a reason in a sentence


@dataclass(frozen=True)
class Quarantine:
    """Why a board is in quarantine, and since when; `by_hand` if a person has put it there."""

    since: datetime
    by_hand: bool
    why: str

    def sentence(self, key: BoardKey) -> str:
        """Return what to tell of a board: since when, why, and the cure."""
        who = "by hand " if self.by_hand else ""
        name = f"{key.board} (board {key.place})" if key.place else key.board
        cure = f"mend it, then `hil lab release {shown_name(key)}`."
        return f"{name} is in quarantine {who}since {self.since:%Y-%m-%d %H:%M} UTC ({self.why}): {cure}"


def shown_name(key: BoardKey) -> str:
    """Return the name by which a board is released, in quotation marks if it has spaces."""
    name = key.place or key.board
    return f'"{name}"' if " " in name else name


def key_of_trial(record: TrialRecord | DeviceTest, bench: str) -> BoardKey:
    """Return the key of the board of a trial."""
    return key_of(name_of(bench), name_of(record.board or ""), name_of(record.place) if record.place else None)


def counts_as(record: TrialRecord | DeviceTest, at_place: bool) -> bool | None:
    """Return whether a trial is a fault of its rig (True), shows that the rig works (False), or says neither (None).

    Neither says a trial that was interrupted, or blocked by something else: a lock, a disk, a meter, the lab. Nor does
    one that lost its board in the training, because a device that hangs looks the same, or one of firmware of the
    user's own that does not greet.

    Args:
        record: of a trial or a device test on an attached board.
        at_place: rig.toml names a labgrid place for it, or gives ids. A fault before one was taken is one of the lab.
    """
    if record.verdict in ("pass", "fail"):
        return False
    own = record.image is not None and _is_own(record)
    stages = BEFORE_THE_FIRMWARE if own else OF_THE_RIG
    blamed = record.verdict == "blocked" and record.stage in stages and not record.steps_compared
    if not blamed or record.reason == NO_MEMORY or (at_place and not record.place):
        return None
    return True


def _is_own(record: TrialRecord | DeviceTest) -> bool:
    """Return whether the firmware, which there is, is one of the user's own."""
    if isinstance(record, DeviceTest):
        return record.image is not None and record.image["own"]
    return record.image is not None and not record.image["in_manifest"]


def quarantines(history: History) -> dict[BoardKey, Quarantine]:
    """Return all boards in quarantine. Raises HistoryError if the history cannot be read."""
    return {
        BoardKey(row.bench, row.board, row.place): Quarantine(row.since, row.by_hand, row.why)
        for row in history.rows(select(boards).where(boards.c.since.is_not(None)))
    }


def find(writer: Writer, key: BoardKey) -> Quarantine | None:
    """Return the quarantine of a board; None if it is in none."""
    row = writer.connection.execute(select(boards).where(*_is(key))).first()
    return None if row is None or row.since is None else Quarantine(row.since, row.by_hand, row.why)


def count(writer: Writer, key: BoardKey, fault: bool, reason: str, after: int, now: datetime) -> Quarantine | None:
    """Count a trial, and put its board in quarantine if it is the last of too many faults; return its quarantine.

    Args:
        writer: of one transaction.
        key: of the board.
        fault: the trial was blocked by the rig; else it shows that the rig works, and the count begins anew.
        reason: why it was blocked.
        after: number of faults one after the other that put a board in quarantine.
        now: time of the trial.
    """
    row = _locked(writer, key)
    if not fault:
        if row.faults:
            writer.connection.execute(update(boards).where(*_is(key)).values(faults=0))
    else:
        values = {"faults": row.faults + 1}
        if row.since is None and row.faults + 1 >= after:
            why = f"{row.faults + 1} trials one after the other were blocked by the rig, the last one because "
            values |= {"since": now, "by_hand": False, "why": why + short(reason)}
        writer.connection.execute(update(boards).where(*_is(key)).values(values))
    return find(writer, key)


def put(writer: Writer, key: BoardKey, why: str, now: datetime) -> None:
    """Put a board in quarantine by hand; what was there before is replaced."""
    _locked(writer, key)
    values = {"since": now, "by_hand": True, "why": cut(why)}
    writer.connection.execute(update(boards).where(*_is(key)).values(values))


def release(writer: Writer, key: BoardKey) -> bool:
    """End the quarantine of a board, and count its faults anew; return whether it was in quarantine."""
    was = find(writer, key) is not None
    values = {"since": None, "by_hand": False, "why": "", "faults": 0}
    writer.connection.execute(update(boards).where(*_is(key)).values(values))
    return was


def short(reason: str) -> str:
    """Return the first sentence of a reason, without its cure and its full stop, cut if it is long."""
    return cut(" ".join(reason.split()).partition(": ")[0])


def cut(text: str) -> str:
    """Return a text in one line, without its full stop, cut if it is long."""
    line = " ".join(printable(text).split()).rstrip(".")
    return line if len(line) <= LONGEST_WHY else f"{line[: LONGEST_WHY - 1]}…"


def _locked(writer: Writer, key: BoardKey) -> Any:
    """Return the row of a board, which is made if it is not there; other writers wait until the transaction ends."""
    fresh = {**key._asdict(), "faults": 0, "by_hand": False, "why": ""}
    writer.insert_new(boards, [fresh])
    return writer.connection.execute(select(boards).where(*_is(key)).with_for_update()).one()


def _is(key: BoardKey) -> list[ColumnElement[bool]]:
    return [boards.c[name] == value for name, value in key._asdict().items()]
