"""One test that asked for a trial, as results.json holds it, and the count of verdicts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

VERDICTS = ("pass", "fail", "blocked", "refused", "interrupted", "skipped")
NOT_ENDED = "the run ended before this test did."


@dataclass
class AskedTest:
    """One entry of `tests`: every test that asked for a board or a trial has one, whatever became of it.

    Until a test has ended it stands as `interrupted`, so that the record of a run that is killed tells the truth.

    Attributes:
        test: its node id; a test of the bench suite begins with `hil/suite/`.
        board: the board that it was run for; None where it names none.
        verdict: one of `VERDICTS`.
        reason: one sentence where it did not pass.
        outcome: pytest's own word: `passed`, `failed`, `error`, `skipped`, `xfailed` or `xpassed`; None where it did not end.
        expected: the test is marked xfail and failed as its mark says: the run is not red because of it.
        trials: folders of its trials, in the order in which they began.
        repeat: the command that runs this test again.
    """

    test: str
    board: str | None = None
    verdict: str = "interrupted"
    reason: str = NOT_ENDED
    outcome: str | None = None
    expected: bool = False
    trials: list[str] = field(default_factory=list)
    repeat: str = ""


def totals(verdicts: Iterable[str]) -> dict[str, int]:
    """Return how many there are in `all` and of each verdict."""
    found = list(verdicts)
    return {"all": len(found)} | {verdict: found.count(verdict) for verdict in VERDICTS}
