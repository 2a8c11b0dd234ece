"""Read the boards in quarantine out of a damaged file: no folder of a run has them, so that nothing else makes them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import select
from sqlalchemy.exc import DBAPIError

from hil.history.address import address_of
from hil.history.models import boards

if TYPE_CHECKING:
    from hil.history.store import Store

LOST = ", and no boards in quarantine could be read from it"


def rescue_boards(damaged: Path, store: Store) -> str:
    """Copy what a damaged file knows of boards into the history that replaces it.

    Returns the end of a sentence if it cannot be read, else an empty text.
    """
    engine = address_of(f"sqlite:///{damaged.absolute()}", damaged.parent).engine(read_only=True)
    try:
        with engine.connect() as connection:
            rows = [row._asdict() for row in connection.execute(select(boards))]
    except (DBAPIError, ValueError, OverflowError):  # a page of the table is gone, or holds anything
        return LOST
    finally:
        engine.dispose()
    if rows:
        with store.transaction() as writer:
            writer.insert_new(boards, rows)
    return ""
