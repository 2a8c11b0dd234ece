"""Types of the fields of the record, each with its range and its JSON Schema.

An entry of the record is an `Entry`, a pydantic model. A part of an entry is a TypedDict with the names of the JSON
fields. A closed part is written with exactly these fields; a reader drops unknown ones. An open part may have more
fields, which a reader keeps.
"""

from __future__ import annotations

import math
from datetime import datetime
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
SHOWN = 40  # characters of a name or value in a message

# Validators are built at their first use: all of them take 0.15 s, and a run without trials needs few.
OPEN = ConfigDict(extra="allow", defer_build=True)
CLOSED = ConfigDict(extra="ignore", defer_build=True, json_schema_extra={"additionalProperties": False})

Flag = StrictBool
Integer = StrictInt
Count = Annotated[StrictInt, Field(ge=0)]
Natural = Annotated[StrictInt, Field(ge=1)]
# JSON has one type of number. Python has two: a number that was written as an integer stays an integer.
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
Uid = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]  # 128 random bits


def _check_time(value: str) -> str:
    """Refuse what has the form of a time and is none, such as month 13."""
    try:
        datetime.fromisoformat(value)
    except ValueError as error:
        raise clause_error(f"is {value!r}, which is not a time ({error})") from error
    return value


# The time in UTC to the second, as `datetime.isoformat` writes it (RFC 3339).
Time = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\+00:00$"), AfterValidator(_check_time)]
Items = Annotated[list[T], FailFast()]  # stop at the first wrong item: a hostile list may have millions
Word = Literal["measured", "counted", "modelled", "analytic"]  # hil.quantity.Provenance
Origin = Literal["measured", "counted", "modelled", "analytic", "declared"]  # the same of a device test
MOST_NAMES = 4096


def _check_size(value: Any) -> Any:
    """Refuse a huge object before its values are validated: pydantic keeps a few hundred bytes for each error."""
    if isinstance(value, dict) and len(value) > MOST_NAMES:
        raise clause_error(f"has {len(value):,} entries, more than {MOST_NAMES:,}")
    return value


Named = Annotated[dict[str, T], Field(max_length=MOST_NAMES), BeforeValidator(_check_size)]


def _as_word(value: Any) -> Any:
    """Return NaN and infinity, which JSON does not have, as a string."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


NumberOrWord = Annotated[
    StrictInt | StrictFloat | str, BeforeValidator(_as_word), WithJsonSchema({"type": ["number", "string"]})
]


def _with_step(change: dict[str, float]) -> dict[str, float]:
    if "step" not in change:
        raise clause_error("has no step")
    if not isinstance(change["step"], int):
        raise clause_error(f"has the step {change['step']}, which is no integer")
    return change


Change = Annotated[
    Named[Number],
    AfterValidator(_with_step),
    WithJsonSchema(
        {
            "type": "object",
            "required": ["step"],
            "properties": {"step": {"type": "integer"}},
            "additionalProperties": {"type": "number"},
            "maxProperties": MOST_NAMES,
        }
    ),
]


NO_COLUMN = object()  # marks a field without a column in results.csv, such as a table within a trial


class Entry(BaseModel):
    """Base of an entry of `tests` or `trials`. It has no fields other than those of its model."""

    model_config = ConfigDict(extra="forbid", defer_build=True, json_schema_serialization_defaults_required=True)

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, value: Any) -> Any:
        """Refuse an unknown field and suggest similar names."""
        for unknown in value if isinstance(value, dict) else ():
            if unknown not in cls.model_fields:
                name = str(unknown)[:SHOWN]
                raise clause_error(f"has no field {name!r}, {close_matches(name, list(cls.model_fields))}")
        return value


def clause_error(clause: str) -> PydanticCustomError:
    """Return an error whose message is the place of the value followed by `clause`."""
    return PydanticCustomError("clause", "{clause}", {"clause": clause})
