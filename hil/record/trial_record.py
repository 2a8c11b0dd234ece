"""One trial: the entry of results.json, and what trial.json and begun.json hold."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, JsonValue

from hil.record.energy_part import Energy
from hil.record.kinds import (
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
from hil.record.latency_part import Latency
from hil.record.parts import (
    Accuracy,
    Analytic,
    Evaluation,
    Firmware,
    FirstDifference,
    Flash,
    MemoryPlan,
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

RULES: list[JsonValue] = [  # of the schema alone: who writes keeps to them, and a record of another hand is still read
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
    """One entry of `trials`. Bytes, counts and seconds are plain numbers; what could not be found out is null.

    A field without a default has been there from the first version of this schema on; one with a default may be missing in an old record.
    """

    model_config = ConfigDict(json_schema_extra={"allOf": RULES})

    board: str
    core: str
    reality: Reality | None = Field(description="what gave the endpoints; null when none was reached")
    network: str
    method: str
    variant: str
    data: str
    batch: Natural
    seed: Integer
    steps: Count = Field(description="steps that were asked for")
    bit_exact: Flag | None
    steps_compared: Count
    first_difference: FirstDifference | None
    final_digest: Digest | None = Field(
        description="XXH32 over the digests of all trained tensors after the last step (u32, little-endian, in order)"
    )
    accuracy: Accuracy
    sram: Sram
    sram_provenance: SramProvenance
    cycles: Named[Count] = Field(description="mean count a step, by phase; empty without steps")
    cycles_provenance: Word
    clock_hz: Count | None
    step_time_s: Number | None
    image_sha256: Sha256 | None
    network_sha256: Sha256 | None
    data_sha256: Sha256 | None
    verdict: TrialVerdict
    reason: str
    stage: str = Field(default="", description="of a blocked trial: where")
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
    slots: Natural | None = Field(default=None, description="samples that the board held at a time")
    schedule: Annotated[Items[Change], NO_COLUMN] = Field(
        default=[], description="changes of settings, each from a step on"
    )
    signs: Signs | None = None
    memory_plan: Annotated[MemoryPlan | None, NO_COLUMN] = None
    profile: Annotated[Profile | None, NO_COLUMN] = None
    analytic: Analytic | None = None
    work: Work | None = None
    selection: Items[Tried] = Field(default=[])
    evaluations: Annotated[Items[Evaluation], NO_COLUMN] = Field(default=[])
    energy: Energy | None = None
    latency: Latency | None = None
    flash: Flash | None = None
    image: Firmware | None = None
    second_sources: Named[Items[Source]] = Field(
        default={},
        description="figures that the firmware has reported, each with what else was asked about it (docs/reported-figures.md); empty: its own word alone",
    )
    wrong_figures: Named[str] = Field(
        default={}, description="figures whose sources differ, each with a sentence that has both values"
    )
    test: str = Field(default="", description="node id of the test that asked for it")
