"""A record that is valid by its schema, but whose content makes no sense: one sentence instead of an exception."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hil.errors import RigError, message_of


@contextmanager
def damage_reported(what: str) -> Iterator[None]:
    """Turn an exception into RigError: the record is valid by its schema, but its content makes no sense."""
    try:
        yield
    except (RigError, OSError):
        raise
    except Exception as error:
        problem = f"{type(error).__name__}: {message_of(error)}"
        cure = "its record is damaged, run the trials again"
        raise RigError(f"{what} cannot be made ({problem}): {cure}.") from error
