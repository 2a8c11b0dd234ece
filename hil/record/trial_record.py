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
    Sentence,
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
    Kept,
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
# `hardware`, `renode`, `qemu`, `virtual`, or the name of a plugin's stand-in
Reality = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
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


NOTHING_MOVED = "nothing moved: "  # how the warning of a trial begins whose steps changed no trained number


class TrialRecord(Entry):
    """One entry of `trials`. A value that is unknown is null.

    A field with a default may be missing in a record of an older version.
    """

    model_config = ConfigDict(json_schema_extra={"allOf": RULES})

    board: str = Field(description="board of the catalogue")
    core: str = Field(description="core of the board, such as cortex-m7")
    reality: Reality | None = Field(description="what gave the endpoints; null if none was reached")
    network: str = Field(description="name of the network, or file name of one that was given by path")
    method: str = Field(description="training method")
    variant: str = Field(description="variant of the method")
    data: str = Field(description="data set, or the name of the user's own data without its folder")
    batch: Natural = Field(description="samples in a step")
    seed: Integer = Field(description="seed of initial weights, order of samples and random draws")
    steps: Count = Field(description="requested number of steps")
    bit_exact: Flag | None = Field(
        description="whether board and reference agreed in every compared step; null without a compared step"
    )
    steps_compared: Count = Field(description="steps whose digests, losses and sign were compared")
    first_difference: FirstDifference | None = Field(description="where board and reference first differed")
    final_digest: Digest | None = Field(
        description="XXH32 over the digests of all trained tensors after the last step (u32, little-endian, in order)"
    )
    accuracy: Accuracy = Field(description="fractions of the test images that were classified correctly")
    sram: Sram = Field(description="SRAM in bytes")
    sram_provenance: SramProvenance = Field(description="provenance of each figure of `sram`")
    cycles: Named[Count] = Field(description="mean cycles of a step by phase; empty without steps")
    cycles_provenance: Word = Field(description="measured on hardware, modelled by a stand-in")
    clock_hz: Count | None = Field(description="clock of the core, as the agent reports it")
    step_time_s: Number | None = Field(description="mean time of a step in seconds: cycles by the clock")
    image_sha256: Sha256 | None = Field(description="of the firmware image")
    network_sha256: Sha256 | None = Field(description="of the network file")
    data_sha256: Sha256 | None = Field(description="of the content of the data set")
    verdict: TrialVerdict = Field(description="verdict of the trial")
    reason: str = Field(description="one sentence if the trial did not pass, else empty")
    stage: str = Field(default="", description="stage at which the trial was blocked")
    settings: Named[Any] = Field(default={}, description="settings of the method, with their defaults")
    layers: Items[str] = Field(default=[], description="names of the trained tensors")
    digests: Items[Digest] = Field(
        default=[], description="XXH32 of each trained tensor after the last step, in the order of `layers`"
    )
    probe_checks: Count = Field(
        default=0, description="how often the digests were also taken from memory that the probe read"
    )
    probe_agreed: Count = Field(default=0, description="how many of these agreed")
    sram_probe: ProbedSram | None = Field(
        default=None, description="the watermarks as the debug probe read them; null without a probe"
    )
    link: Named[Integer] = Field(default={}, description="frames, repeats and bytes of the link, counted on the host")
    wall_s: NotNegative = Field(default=0.0, description="time of the trial on the host in seconds")
    warnings: Items[str] = Field(default=[], description="what the reader of the figures has to know")
    folder: str = Field(default="", description="folder of the trial in that of the run")
    slots: Natural | None = Field(default=None, description="samples that the board holds at a time")
    keep: Annotated[Literal["ram", "flash"] | None, NO_COLUMN] = Field(
        default=None,
        description="where the training samples stayed on the board, `ram` or `flash`; null if they did not",
    )
    kept: Annotated[Kept | None, NO_COLUMN] = Field(default=None, description="the training samples that stayed there")
    schedule: Annotated[Items[Change], NO_COLUMN] = Field(
        default=[], description="changes of settings, each from a step onwards"
    )
    signs: Signs | None = Field(
        default=None, description="agreement of the integer sign with that of the float losses, for the integer loss"
    )
    memory_plan: Annotated[MemoryPlan | None, NO_COLUMN] = Field(
        default=None, description="where the buffers of the engine are"
    )
    profile: Annotated[Profile | None, NO_COLUMN] = Field(
        default=None, description="cycles of the first compared step by layer"
    )
    analytic: Analytic | None = Field(default=None, description="memory by the formula of the paper")
    work: Work | None = Field(default=None, description="work of the first compared step, counted by the board")
    selection: Items[Tried] = Field(default=[], description="blocks that were tried on the board before training")
    data_card: Annotated[DataCard | None, NO_COLUMN] = Field(default=None, description="what the data set is")
    evaluations: Annotated[Items[Evaluation], NO_COLUMN] = Field(default=[], description="points of the accuracy curve")
    evaluate_every: Annotated[Count | None, NO_COLUMN] = Field(
        default=None, description="steps between two evaluations during training; 0 for none"
    )
    sample_gradients: Annotated[SampleGradients | None, NO_COLUMN] = Field(
        default=None, description="maps of the gradients of one sample"
    )
    energy: Energy | None = Field(default=None, description="energy, if a meter measured it")
    latency: Latency | None = Field(default=None, description="latency over autonomous steps, if it was measured")
    gates: Annotated[Items[Gate], NO_COLUMN] = Field(
        default=[], description="the budgets of the trial, each with what may be said of its figure"
    )
    flash: Flash | None = Field(default=None, description="how the image came into the flash")
    image: Firmware | None = Field(default=None, description="the firmware image")
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
    began: Sentence | None = Field(default=None, description="time at which the trial began, in UTC")
    attached: Flag | None = Field(
        default=None, description="whether rig.toml names the board, so that no stand-in was asked for"
    )
    place: Sentence | None = Field(
        default=None, description="which board of its kind it was: `id` in rig.toml, or its labgrid place; null without"
    )
    quarantine: str = Field(
        default="", description="one sentence if the board was in quarantine when the trial ended, else empty"
    )

    @property
    def still(self) -> list[str]:
        """The warning of a trial whose steps changed no trained number; empty if one did."""
        return [warning for warning in self.warnings if warning.startswith(NOTHING_MOVED)]
