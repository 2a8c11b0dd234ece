"""The plan of a campaign: what the user requested, kept in campaign.json in its folder."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from hil.atomic_write import write_atomic
from hil.bounded_read import SMALL_TEXT, read_json
from hil.dataclass_json import rebuilt
from hil.errors import RigError, shown
from hil.training.methods import find_method
from hil.training.trial import TrialSpec
from hil.training.trial.fitting import SELECTED
from hil.training.trial.prepare import Prepared

NAME, SCHEMA = "campaign.json", 1
START = "start.npz"  # the weights that the campaign starts from, if the user gave some
DOCS = "docs/trials.md"
CURE = "restore it from a copy, or start a new campaign"
U32 = Annotated[int, Field(ge=0, lt=1 << 32)]


class SettingsChange(BaseModel):
    """A change of settings from a step onwards."""

    model_config = ConfigDict(extra="forbid", strict=True)

    step: int = Field(ge=0)
    settings: dict[str, int | float | str]


class TrialRequest(BaseModel):
    """The trial that the user requests: the fields of `TrialSpec` that a campaign supports, and the keys of --spec."""

    model_config = ConfigDict(extra="forbid", strict=True)

    board: str = "stm32h7b3"
    network: str = "lenet5"
    method: str = "elasticzo-int8"
    variant: str | None = None
    data: str = "fashion-mnist-1k"
    batch: int = 8
    seed: int = 1
    steps: int = 10_000
    evaluate: int = 500
    probe_every: int = 50
    slots: int | None = None
    network_in: str = "auto"
    keep: str | None = None
    settings: dict[str, int | float | str] = Field(default_factory=dict)
    schedule: list[SettingsChange] = Field(default_factory=list)
    checkpoint: str | None = None

    def trial(self) -> TrialSpec:
        """Return the trial of the whole campaign.

        Raises:
            RigError: a field is out of its range.
        """
        fields: dict[str, Any] = self.model_dump(exclude={"schedule", "checkpoint", "variant"})
        variant = self.variant or find_method(self.method).default_variant
        schedule: Any = tuple((change.step, change.settings) for change in self.schedule)
        checkpoint = None if self.checkpoint is None else Path(self.checkpoint)
        return TrialSpec(variant=variant, **fields, schedule=schedule, checkpoint=checkpoint)


@dataclass(frozen=True)
class CampaignPlan:
    """A campaign, as in campaign.json."""

    number: U32  # random; identifies the campaign
    asked: TrialRequest
    checkpoint_every: Annotated[int, Field(ge=1, lt=1 << 32)]  # steps between two checkpoints of the host
    board_every: U32  # steps between two checkpoints of the board; 0 for none
    data_sha256: str  # of the data set at the start
    network_sha256: str  # of the network file at the start

    def trial(self, folder: Path) -> TrialSpec:
        """Return the trial of the whole campaign; it starts from START if the folder has it."""
        start = folder / START
        return replace(self.asked.trial(), checkpoint=start if start.exists() else None)

    def write(self, folder: Path) -> None:
        """Write campaign.json, which makes the folder that of a campaign."""
        fields = {"schema": SCHEMA, **asdict(self), "asked": self.asked.model_dump()}
        write_atomic(folder / NAME, json.dumps(fields, indent=1) + "\n", durable=True)

    def check(self, prepared: Prepared) -> None:
        """Check that data and network are those of the start.

        Raises:
            RigError: they are not.
        """
        if prepared.data.sha256 != self.data_sha256:
            cure = "restore the files that it had then"
            raise RigError(f"the data set {self.asked.data} is not the one that the campaign started with: {cure}.")
        if prepared.network_sha256 != self.network_sha256:
            cure = "use the version of trainrig that started it"
            raise RigError(
                f"the network file of {self.asked.network} is not the one that the campaign started with: {cure}."
            )


def read_plan(folder: Path) -> CampaignPlan:
    """Read the plan of a campaign.

    Raises:
        RigError: it is missing or damaged.
    """
    path = folder / NAME
    if not path.exists():
        raise RigError(f"{folder} holds no campaign: `hil campaign start` begins one, or name its folder.")
    fields = read_json(path, SMALL_TEXT, CURE)
    schema = fields.pop("schema", None) if isinstance(fields, dict) else None
    if schema != SCHEMA:
        cure = "use the version that wrote it"
        raise RigError(f"{path} has schema {shown(schema)}, this trainrig reads {SCHEMA}: {cure}.")
    plan = rebuilt(CampaignPlan, fields, str(path), CURE)
    try:
        plan.asked.trial()
    except RigError as error:
        raise RigError(f"{path} is damaged ({str(error).rstrip('.')}); {CURE}.") from error
    return plan


def check_resumable(prepared: Prepared) -> None:
    """Check that a step passes only its weights to the next step, because a checkpoint holds nothing else.

    Raises:
        RigError: the training has other state.
    """
    if prepared.spec.variant == SELECTED:
        cure = f"choose the block by a trial with {SELECTED!r}, then name it"
        raise RigError(f"a campaign trains one variant: {cure}.")
    changes = (0, *(step for step, _ in prepared.spec.schedule))
    for step in changes:
        kept = prepared.method.request.kept_state(prepared.settings_at(step))
        if kept is not None:
            what, cure = kept
            raise RigError(f"{what} is state in addition to the weights, which a checkpoint lacks: {cure}.")
