"""Kinds of values that the record is made of: what they may be in Python, in JSON and in the JSON Schema, said once.

An entry of the record is an `Entry`, which knows all of its fields. A part of an entry is a TypedDict: its keys are the names of the JSON fields, in memory
too. A closed part has no other fields: the schema says so, and the writer keeps to it. A reader is less strict: it leaves out what it does not know. Of an open
part it keeps that too.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    AllowInfNan,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    FailFast,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from hil.errors import close_matches

T = TypeVar("T")
SHOWN = 40  # characters of a name or a value in a sentence

OPEN = ConfigDict(extra="allow")
CLOSED = ConfigDict(extra="ignore", json_schema_extra={"additionalProperties": False})

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
    Annotated[StrictInt, Field(gt=0)] | Annotated[_Real, Field(gt=0)],
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0}),
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
MOST_NAMES = 4096


def _few(value: Any) -> Any:
    """Refuse too many names before any is looked at: pydantic keeps the mistake of every one, a few hundred bytes each."""
    if isinstance(value, dict) and len(value) > MOST_NAMES:
        raise wrong(f"has {len(value):,} entries, more than {MOST_NAMES:,}")
    return value


Named = Annotated[dict[str, T], Field(max_length=MOST_NAMES), BeforeValidator(_few)]


def _written(value: Any) -> Any:
    """JSON has no NaN and no infinity: a loss that went there is a word."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


NumberOrWord = Annotated[
    StrictInt | StrictFloat | str, BeforeValidator(_written), WithJsonSchema({"type": ["number", "string"]})
]


def _with_step(change: dict[str, int]) -> dict[str, int]:
    if "step" not in change:
        raise wrong("has no step")
    return change


Change = Annotated[
    Named[StrictInt],
    AfterValidator(_with_step),
    WithJsonSchema(
        {
            "type": "object",
            "required": ["step"],
            "additionalProperties": {"type": "integer"},
            "maxProperties": MOST_NAMES,
        }
    ),
]


class _NoColumn:
    """What NO_COLUMN is."""


NO_COLUMN = _NoColumn()  # marks a field that results.csv leaves out: a table within a trial, or what only a page draws


class Entry(BaseModel):
    """An entry of `tests` or `trials`: it has the fields that it names and no others."""

    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=True)

    @model_validator(mode="before")
    @classmethod
    def _known(cls, said: Any) -> Any:
        """Refuse a field that is none, with those that it may have been meant to be."""
        unknown = (
            next((name for name in said if name not in cls.model_fields), None) if isinstance(said, dict) else None
        )
        if unknown is not None:
            name = str(unknown)[:SHOWN]
            raise wrong(f"has no field {name!r}, {close_matches(name, list(cls.model_fields))}")
        return said


def wrong(clause: str) -> PydanticCustomError:
    """Return the error for a value of which a sentence says this, after the place of the value."""
    return PydanticCustomError("clause", "{clause}", {"clause": clause})
