"""What can be wrong with a history, each as one sentence; no sentence shows a password."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from hil.errors import RigError, message_of

REBUILD = "`hil history rebuild` makes it again from the folders of the runs"
DAMAGED = ("malformed", "not a database", "file is encrypted", "disk i/o error")
LOCKED = ("database is locked", "database table is locked", "database schema is locked", "lock timeout")
READ_ONLY = ("readonly", "read-only")
CANNOT_OPEN = "unable to open database file"
FULL = ("disk is full", "no space left")


class HistoryError(RigError):
    """The history cannot be read or written now.

    Args:
        message: one sentence, which may name the file or the server.
        brief: the same after "the history", without any name: for records, which others read.
    """

    def __init__(self, message: str, brief: str = "cannot be read") -> None:
        super().__init__(message)
        self.brief = brief


class Damaged(HistoryError):
    """The file of the history is damaged."""


class NewerSchema(HistoryError):
    """The history was written by a newer trainrig."""


class OlderSchema(HistoryError):
    """The history was written by an older trainrig, and was not upgraded yet."""


class NoTables(HistoryError):
    """There is no history yet, or it has no tables yet: no run was recorded."""


@contextlib.contextmanager
def explained(shown: str) -> Iterator[None]:
    """Turn an error of the database into one sentence; `shown` names the history.

    Raises:
        HistoryError: instead of the error.
    """
    try:
        yield
    except (DBAPIError, PoolTimeout) as error:
        raise history_error(shown, error) from error


def history_error(shown: str, error: DBAPIError | PoolTimeout) -> HistoryError:
    """Return the sentence for an error of the database."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    reason = message_of(cause)
    lower = reason.lower()
    if any(word in lower for word in DAMAGED):
        return Damaged(f"{shown} is damaged ({reason}): {REBUILD}.", "is damaged")
    if any(word in lower for word in LOCKED) or isinstance(error, PoolTimeout):
        message = f"{shown} is locked by another program ({reason}): close it, or try again later."
        return HistoryError(message, "is locked by another program")
    if any(word in lower for word in READ_ONLY):
        message = f"{shown} is read-only ({reason}): check its permissions and those of its folder."
        return HistoryError(message, "is read-only")
    if CANNOT_OPEN in lower:
        message = f"{shown} cannot be opened: check that its folder is there, and its permissions."
        return HistoryError(message, "cannot be opened")
    if any(word in lower for word in FULL):
        return HistoryError(f"{shown} cannot be written ({reason}): make room on the disk.", "cannot be written")
    message = f"{shown} does not answer ({reason}): start the database, or correct `url` in rig.toml."
    return HistoryError(message, "does not answer")
