"""The model of results.json, and the JSON Schemas of the files of a run."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, with_config
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from typing_extensions import NotRequired, TypedDict

from hil.record.device_test import DEVICE, DeviceTest
from hil.record.energy import Figure
from hil.record.field_types import CLOSED, OPEN, Flag, Integer, Items, Named, Natural, Sentence, Time, Uid
from hil.record.since_last_good import SINCE
from hil.record.trial_record import TrialRecord
from hil.record.verdicts import AskedTest, Totals

SCHEMA = 2
State = Literal["running", "ended", "interrupted"]


@with_config(OPEN)
class RunFacts(TypedDict):
    """Commit, versions and host of a run, and how it ended."""

    id: Annotated[str, Field(description="name of the run's folder")]
    uid: NotRequired[Annotated[Uid, Field(description="random; tells runs apart that have one id, on two computers")]]
    after: NotRequired[
        Annotated[
            Sentence, Field(description="id of the newest run in the folder before: the order if a clock is wrong")
        ]
    ]
    bench: NotRequired[Annotated[str, Field(description="name of the bench, from rig.toml")]]
    workers: NotRequired[Annotated[Natural, Field(description="processes that run tests side by side")]]
    time: Annotated[Time, Field(description="time of the start in UTC")]
    commit: Annotated[
        str | None,
        Field(
            description="git commit of the folder that the run was started in, followed by `+` if tracked files other "
            "than rig.toml differ from it"
        ),
    ]
    versions: Annotated[
        Named[str], Field(description="versions of trainrig, Python and the packages that figures depend on")
    ]
    host: Annotated[Named[Any], Field(description="system, processor and number of its cores")]
    command: NotRequired[Annotated[str, Field(description="the command that repeats the run")]]
    state: Annotated[
        State, Field(description="running: still running, or killed; interrupted: by Ctrl-C or pytest.exit")
    ]
    ended: Annotated[Time | None, Field(description="time of the end; null while the state is running")]
    whole: Annotated[Flag, Field(description="the run and all its tests ended, and nothing is missing from the record")]
    exit_code: Annotated[Integer | None, Field(description="exit code of pytest; null if the run did not end")]
    missing: Annotated[
        Items[Sentence], Field(description="sentences that say what is missing from the record, and why")
    ]
    sums: NotRequired[
        Annotated[
            Literal["SHA256SUMS"],
            Field(description="file with the SHA-256 of the files of the run; not there while the run goes on"),
        ]
    ]
    kept: NotRequired[
        Annotated[
            Flag,
            Field(description="a copy for a repository, without trial.json, networks, logs and junit.xml of the run"),
        ]
    ]


@with_config(CLOSED)
class RunTotals(TypedDict):
    """Number of tests and trials by verdict."""

    tests: Annotated[Totals, Field(description="the tests that use a board or run a trial")]
    trials: Annotated[Totals, Field(description="the trials that these tests ran")]


@with_config(CLOSED)
class Results(TypedDict):
    """results.json: a run, every test that uses a board or runs a trial, and every trial."""

    schema: Annotated[Literal[2], Field(description="number of the schema")]
    run: RunFacts
    totals: RunTotals
    tests: Items[AskedTest]
    trials: Items[TrialRecord]
    device_tests: NotRequired[
        Annotated[
            Items[DeviceTest],
            Field(description="the tests that used a device under test, or compared; not there if there is none"),
        ]
    ]


class TrialFile(TrialRecord):
    """trial.json: the entry of the trial in results.json, and its figures with unit and provenance by path."""

    quantities: dict[str, Figure]


RESULTS: TypeAdapter[Results] = TypeAdapter(Results)
TRIAL: TypeAdapter[TrialRecord] = TypeAdapter(TrialRecord)
FILES: dict[str, TypeAdapter[Any]] = {
    "results": RESULTS,
    "trial": TypeAdapter(TrialFile),
    "device_test": DEVICE,
    "since_last_good": SINCE,
}


class _Plain(GenerateJsonSchema):
    """Pydantic's generator without field titles and without `additionalProperties: true`."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def dict_schema(self, schema: Any) -> JsonSchemaValue:
        found = super().dict_schema(schema)
        return {name: item for name, item in found.items() if (name, item) != ("additionalProperties", True)}

    def field_is_required(self, field: Any, total: bool) -> bool:
        """Require every field of an entry, and every field of a part that is not `NotRequired`."""
        if field["type"] == "typed-dict-field":
            return bool(field.get("required", total))
        return super().field_is_required(field, total)


@cache
def schema(file: str = "results") -> JsonSchemaValue:
    """Return the JSON Schema of a file of a run by its name without `.json`, as the rig writes it."""
    found = FILES[file].json_schema(mode="serialization", schema_generator=_Plain)
    return {"$schema": GenerateJsonSchema.schema_dialect, **found}
