"""Which runs and trials a question is about."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone

from hil.errors import RigError


@dataclass(frozen=True)
class Filter:
    """Conditions that all must hold; an empty one always holds.

    Attributes:
        board, network, method, variant, data, reality, bench, verdict: allowed names.
        settings: allowed digests of settings; the beginning of one is enough.
        since, until: allowed times of a run, in the order of the nights (`hil.history.nights`); `until` excluded.
    """

    board: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
    method: tuple[str, ...] = ()
    variant: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    reality: tuple[str, ...] = ()
    bench: tuple[str, ...] = ()
    verdict: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None


EVERYTHING = Filter()
OF_TRIALS = ("board", "network", "method", "variant", "data", "reality", "verdict")


def moment(text: str, option: str) -> datetime:
    """Return a time given on the command line, such as `2026-11-01` or `2026-11-01T22:00`; UTC without a zone.

    Raises:
        RigError: it is no time.
    """
    try:
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=timezone.utc) if found.tzinfo is None else found.astimezone(timezone.utc)
    except (ValueError, OverflowError):
        raise RigError(f"{option} {text!r} is no date: write 2026-11-01 or 2026-11-01T22:00.") from None
