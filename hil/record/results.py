"""results.json as a whole, and the JSON Schemas of the files of a run."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, with_config
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from typing_extensions import NotRequired, TypedDict

from hil.record.asked import AskedTest, Totals
from hil.record.energy_part import Figure
from hil.record.kinds import CLOSED, OPEN, Flag, Integer, Items, Named, Sentence
from hil.record.trial_record import TrialRecord

SCHEMA = 2
State = Literal["running", "ended", "interrupted"]


@with_config(OPEN)
class RunFacts(TypedDict):
    """What a run was made with, and how it ended."""

    id: str
    time: str
    commit: str | None
    versions: Named[str]
    host: Named[Any]
    command: NotRequired[Annotated[str, Field(description="the command that runs the same again")]]
    state: Annotated[
        State, Field(description="running: it goes on, or was killed; interrupted: by Ctrl-C or pytest.exit")
    ]
    ended: Annotated[str | None, Field(description="time; null while the state is running")]
    whole: Annotated[
        Flag, Field(description="the run ended, every test came to an end, and nothing is missing from the record")
    ]
    exit_code: Integer | None
    missing: Annotated[Items[Sentence], Field(description="sentences on what is not in the record, and why")]


@with_config(CLOSED)
class RunTotals(TypedDict):
    """Verdicts by count; the sum of those of tests is pytest's count."""

    tests: Totals
    trials: Totals


@with_config(CLOSED)
class Results(TypedDict):
    """results.json of trainrig: a run, every test of it that asked for a board or a trial, and every trial."""

    schema: Literal[2]
    run: RunFacts
    totals: RunTotals
    tests: Items[AskedTest]
    trials: Items[TrialRecord]


class TrialFile(TrialRecord):
    """trial.json: the trial's entry of results.json, and its figures with unit and provenance by their path."""

    quantities: dict[str, Figure]


RESULTS: TypeAdapter[Results] = TypeAdapter(Results)
TRIAL: TypeAdapter[TrialRecord] = TypeAdapter(TrialRecord)
FILES: dict[str, TypeAdapter[Any]] = {"results": RESULTS, "trial": TypeAdapter(TrialFile)}


class _Plain(GenerateJsonSchema):
    """The generator of pydantic without what says nothing: a title for every field, and `additionalProperties` of an object that may hold anything."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def dict_schema(self, schema: Any) -> JsonSchemaValue:
        found = super().dict_schema(schema)
        return {name: item for name, item in found.items() if (name, item) != ("additionalProperties", True)}

    def field_is_required(self, field: Any, total: bool) -> bool:
        """Of an entry, every field is promised; of a part, all but those that are `NotRequired`."""
        if field["type"] == "typed-dict-field":
            return bool(field.get("required", total))
        return super().field_is_required(field, total)


@cache
def schema(file: str = "results") -> JsonSchemaValue:
    """Return the JSON Schema of results.json, or with `trial` that of trial.json: what the rig promises to write."""
    found = FILES[file].json_schema(mode="serialization", schema_generator=_Plain)
    return {"$schema": GenerateJsonSchema.schema_dialect, **found}
