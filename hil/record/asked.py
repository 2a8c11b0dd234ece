"""One test that asked for a trial, as results.json holds it, and the count of verdicts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, cast, get_args

from pydantic import ConfigDict, Field, with_config
from pydantic.config import JsonDict
from typing_extensions import TypedDict

from hil.record.kinds import CLOSED, Count, Entry, Flag, Items, Sentence

Verdict = Literal["pass", "fail", "blocked", "refused", "interrupted", "skipped"]
Outcome = Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
NOT_ENDED = "the run ended before this test did."
RULE: JsonDict = {  # of the schema alone, as those of a trial
    "if": {"properties": {"verdict": {"const": "pass"}}},
    "then": {"properties": {"reason": {"const": ""}, "trials": {"minItems": 1}}},
    "else": {"properties": {"reason": {"minLength": 1}}},
}


class AskedTest(Entry):
    """One entry of `tests`: every test that asked for a board or a trial has one, whatever became of it.

    Until a test has ended it stands as `interrupted`, so that the record of a run that is killed tells the truth.
    """

    model_config = ConfigDict(json_schema_extra=RULE)

    test: Sentence = Field(description="pytest's node id; a test of the bench suite begins with `hil/suite/`")
    board: str | None = Field(default=None, description="that it was run for; null where it names none")
    verdict: Verdict = "interrupted"
    reason: str = Field(default=NOT_ENDED, description="one sentence where it did not pass")
    outcome: Outcome | None = Field(default=None, description="pytest's own word; null where the test did not end")
    expected: Flag = Field(
        default=False, description="marked xfail, and failed as its mark says: the run is not red because of it"
    )
    trials: Items[str] = Field(default=[], description="folders of its trials, in the order in which they began")
    repeat: str = Field(default="", description="the command that runs this test again")


# The keys are the verdicts; `pass` is no name in Python, hence this form.
Totals = TypedDict(
    "Totals",
    {
        "all": Count,
        "pass": Count,
        "fail": Count,
        "blocked": Count,
        "refused": Count,
        "interrupted": Count,
        "skipped": Count,
    },
)
with_config(CLOSED)(Totals)


def totals(verdicts: Iterable[str]) -> Totals:
    """Return how many there are in `all` and of each verdict."""
    found = list(verdicts)
    return cast(Totals, {"all": len(found)} | {verdict: found.count(verdict) for verdict in VERDICTS})
