"""Kinds of values that the record is made of: what they may be in Python, in JSON and in the JSON Schema, said once.

A part of a record is a TypedDict: its keys are the names of the JSON fields, in memory too. A closed part has no other fields: the schema says so, and whoever
writes keeps to it. A reader is not that strict: what it does not know may be there, and stays.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AllowInfNan, BeforeValidator, ConfigDict, FailFast, Field, StrictBool, StrictFloat, StrictInt, WithJsonSchema

T = TypeVar("T")

OPEN = ConfigDict(extra="allow")
CLOSED = ConfigDict(extra="allow", json_schema_extra={"additionalProperties": False})

Flag = StrictBool
Integer = StrictInt
Count = Annotated[StrictInt, Field(ge=0)]
Natural = Annotated[StrictInt, Field(ge=1)]
# JSON has one kind of number; Python has two, and what was written as an integer stays one.
_Real = Annotated[StrictFloat, AllowInfNan(False)]
Number = Annotated[StrictInt | _Real, WithJsonSchema({"type": "number"})]
NotNegative = Annotated[
    Annotated[StrictInt, Field(ge=0)] | Annotated[_Real, Field(ge=0)], WithJsonSchema({"type": "number", "minimum": 0})
]
Positive = Annotated[
    Annotated[StrictInt, Field(gt=0)] | Annotated[_Real, Field(gt=0)], WithJsonSchema({"type": "number", "exclusiveMinimum": 0})
]
Share = Annotated[
    Annotated[StrictInt, Field(ge=0, le=1)] | Annotated[_Real, Field(ge=0, le=1)],
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1}),
]
Sentence = Annotated[str, Field(min_length=1)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{8}$")]  # XXH32
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Items = Annotated[list[T], FailFast()]  # the first wrong one is enough: a hostile list may have millions
Word = Literal["measured", "counted", "modelled", "analytic"]  # hil.quantity.Provenance


def _written(value: Any) -> Any:
    """JSON has no NaN and no infinity: a loss that went there is a word."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


NumberOrWord = Annotated[StrictInt | StrictFloat | str, BeforeValidator(_written), WithJsonSchema({"type": ["number", "string"]})]


class _NoColumn:
    """What NO_COLUMN is."""


NO_COLUMN = _NoColumn()  # marks a field that results.csv leaves out: a table within a trial, or what only a page draws
