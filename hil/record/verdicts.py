"""The entry of one test in results.json, and the number of tests or trials by verdict."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, cast, get_args

from pydantic import ConfigDict, Field, with_config
from pydantic.config import JsonDict
from typing_extensions import TypedDict

from hil.record.field_types import CLOSED, Count, Entry, Flag, Items, NotNegative, Sentence

Verdict = Literal["pass", "fail", "blocked", "refused", "interrupted", "skipped"]
Outcome = Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
WORST_FIRST = ("fail", "blocked", "refused", "interrupted")  # of several, a test has the first
RULE: JsonDict = {  # only in the schema: the reader does not check it
    "if": {"properties": {"verdict": {"const": "pass"}}},
    "then": {"properties": {"reason": {"const": ""}}},
    "else": {"properties": {"reason": {"minLength": 1}}},
}


class AskedTest(Entry):
    """One entry of `tests`: a test that uses a board, runs a trial, or tests a device of the user's own.

    Until the test has ended its verdict is `interrupted`, so that the record of a killed run is correct.
    """

    model_config = ConfigDict(json_schema_extra=RULE)

    test: Sentence = Field(description="pytest's node id; a test of the bench suite begins with `hil/suite/`")
    board: str | None = Field(default=None, description="board that the test ran on; null if it names none")
    verdict: Verdict = Field(default="interrupted", description="the worst of its trials and of its own outcome")
    reason: str = Field(
        default="the run ended before this test did.", description="one sentence if the test did not pass"
    )
    outcome: Outcome | None = Field(default=None, description="pytest's outcome; null if the test did not end")
    expected: Flag = Field(
        default=False, description="the test is marked xfail and failed as expected: it does not fail the run"
    )
    trials: Items[str] = Field(default=[], description="folders of its trials, in the order in which they began")
    repeat: str = Field(default="", description="the command that runs this test again")
    seconds: NotNegative | None = Field(
        default=None, description="time of its setup, call and teardown on the host in seconds; null if it did not end"
    )


# The functional form, because the key `pass` is a Python keyword.
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
    """Return the number of verdicts, in `all` and by verdict."""
    found = list(verdicts)
    return cast(Totals, {"all": len(found)} | {verdict: found.count(verdict) for verdict in VERDICTS})
