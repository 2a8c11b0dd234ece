"""The model of one trial: an entry of results.json, the content of trial.json and begun.json."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, JsonValue

from hil.record.energy import Energy
from hil.record.field_types import (
    NO_COLUMN,
    Change,
    Count,
    Digest,
    Entry,
    Flag,
    Integer,
    Items,
    Named,
    Natural,
    NotNegative,
    Number,
    Sha256,
    Word,
)
from hil.record.gates import Gate
from hil.record.latency import Latency
from hil.record.sample_gradients import SampleGradients
from hil.record.trial_parts import (
    Accuracy,
    Analytic,
    DataCard,
    Evaluation,
    Firmware,
    FirstDifference,
    Flash,
    MemoryPlan,
    NetworkOfUser,
    ProbedSram,
    Profile,
    Signs,
    Sram,
    SramProvenance,
    Tried,
    Work,
)

TrialVerdict = Literal["pass", "fail", "blocked", "interrupted"]
Reality = Literal["hardware", "renode", "qemu", "virtual"]
Source = Literal["probe", "host", "plan", "catalogue", "image", "host's clock", "meter", "alone"]

RULES: list[JsonValue] = [  # only in the schema: the writer follows them, the reader does not check them
    {
        "if": {"properties": {"verdict": {"const": "pass"}}},
        "then": {
            "properties": {"reason": {"const": ""}, "bit_exact": {"const": True}, "steps_compared": {"minimum": 1}}
        },
        "else": {"properties": {"reason": {"minLength": 1}}},
    },
    {
        "if": {"properties": {"reality": {"const": "hardware"}}},
        "else": {"properties": {"cycles_provenance": {"enum": ["counted", "modelled", "analytic"]}}},
    },
]


class TrialRecord(Entry):
    """One entry of `trials`. A value that is unknown is null.

    A field with a default may be missing in a record of an older version.
    """

    model_config = ConfigDict(json_schema_extra={"allOf": RULES})

    board: str
    core: str
    reality: Reality | None = Field(description="what gave the endpoints; null if none was reached")
    network: str
    method: str
    variant: str
    data: str
    batch: Natural
    seed: Integer
    steps: Count = Field(description="requested number of steps")
    bit_exact: Flag | None
    steps_compared: Count
    first_difference: FirstDifference | None
    final_digest: Digest | None = Field(
        description="XXH32 over the digests of all trained tensors after the last step (u32, little-endian, in order)"
    )
    accuracy: Accuracy
    sram: Sram
    sram_provenance: SramProvenance
    cycles: Named[Count] = Field(description="mean cycles of a step by phase; empty without steps")
    cycles_provenance: Word
    clock_hz: Count | None
    step_time_s: Number | None
    image_sha256: Sha256 | None
    network_sha256: Sha256 | None
    data_sha256: Sha256 | None
    verdict: TrialVerdict
    reason: str
    stage: str = Field(default="", description="stage at which the trial was blocked")
    settings: Named[Any] = Field(default={})
    layers: Items[str] = Field(default=[])
    digests: Items[Digest] = Field(default=[])
    probe_checks: Count = 0
    probe_agreed: Count = 0
    sram_probe: ProbedSram | None = None
    link: Named[Integer] = Field(default={})
    wall_s: NotNegative = 0.0
    warnings: Items[str] = Field(default=[])
    folder: str = ""
    slots: Natural | None = Field(default=None, description="samples that the board holds at a time")
    schedule: Annotated[Items[Change], NO_COLUMN] = Field(
        default=[], description="changes of settings, each from a step onwards"
    )
    signs: Signs | None = None
    memory_plan: Annotated[MemoryPlan | None, NO_COLUMN] = None
    profile: Annotated[Profile | None, NO_COLUMN] = None
    analytic: Analytic | None = None
    work: Work | None = None
    selection: Items[Tried] = Field(default=[])
    data_card: Annotated[DataCard | None, NO_COLUMN] = None
    evaluations: Annotated[Items[Evaluation], NO_COLUMN] = Field(default=[])
    sample_gradients: Annotated[SampleGradients | None, NO_COLUMN] = None
    energy: Energy | None = None
    latency: Latency | None = None
    gates: Annotated[Items[Gate], NO_COLUMN] = Field(
        default=[], description="the budgets of the trial, each with what may be said of its figure"
    )
    flash: Flash | None = None
    image: Firmware | None = None
    second_sources: Named[Items[Source]] = Field(
        default={},
        description="figures that the firmware reported, each with the independent sources that confirm it "
        "(docs/reported-figures.md); empty if there is none",
    )
    wrong_figures: Named[str] = Field(
        default={}, description="figures whose sources differ, each with a sentence that names both values"
    )
    network_file: Annotated[NetworkOfUser | None, NO_COLUMN] = Field(
        default=None, description="of a network that was given by path, else null"
    )
    test: str = Field(default="", description="node id of the test that ran the trial")
