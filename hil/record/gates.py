"""The entry `gates` of a trial: each budget with what may be said of its figure (docs/trials.md)."""

from __future__ import annotations

from typing import Literal

from pydantic import with_config
from typing_extensions import TypedDict

from hil.record.field_types import CLOSED, Natural, NotNegative, Number, Sentence, Word


@with_config(CLOSED)
class Gate(TypedDict):
    """A budget and the figure at `path`, both in `unit`.

    `source` says where the budget is written. `limit` is null if the budget is relative and the median of the last
    good nights is not known; `relative` is null if it is absolute. Where the uncertainty does not allow a verdict,
    `more` of `more_of` would; null if none would.
    """

    name: Sentence
    source: Sentence
    path: Sentence
    unit: Sentence
    verdict: Literal["pass", "fail", "inconclusive", "not judged"]
    sentence: Sentence
    value: Number | None
    uncertainty: NotNegative | None
    provenance: Word | None
    limit: Number | None
    relative: Number | None
    more: Natural | None
    more_of: str
