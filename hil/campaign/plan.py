"""What a campaign is to do, and the file in its folder that says so for as long as the folder is there."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hil.bounded import SMALL_TEXT, read_json, read_toml
from hil.errors import RigError, shown
from hil.fields import rebuilt
from hil.network.tflite.methods import METHODS
from hil.record.whole import write_atomic
from hil.trial import TrialSpec
from hil.trial.prepare import SELECTED, Prepared

NAME, SCHEMA = "campaign.json", 1
FIRST_FAMILY_VARIANT = "cls1"  # where none is asked for; of the second family each method has a first variant
START = "start.npz"  # the weights that the campaign was begun with, where it was given some
DOCS = "docs/campaigns.md"
CURE = "restore it from a copy, or start a new campaign"
Word = Annotated[int, Field(ge=0, lt=1 << 32)]


class Change(BaseModel):
    """A change of settings from a step on."""

    model_config = ConfigDict(extra="forbid", strict=True)

    step: int = Field(ge=0)
    settings: dict[str, int | float | str]


class Asked(BaseModel):
    """What may be asked of a campaign: the fields of a trial (`TrialSpec`) that have a meaning for days. Keys of the file given by --spec."""

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
    settings: dict[str, int | float | str] = Field(default_factory=dict)
    schedule: list[Change] = Field(default_factory=list)
    checkpoint: str | None = None

    def trial(self) -> TrialSpec:
        """Return the trial that the whole campaign is.

        Raises:
            RigError: a field is out of its range.
        """
        given: dict[str, Any] = self.model_dump(exclude={"schedule", "checkpoint", "variant"})
        variant = self.variant or next(iter(METHODS.get(self.method, (FIRST_FAMILY_VARIANT,))))
        schedule: Any = tuple((change.step, change.settings) for change in self.schedule)
        return TrialSpec(
            variant=variant,
            **given,
            schedule=schedule,
            checkpoint=None if self.checkpoint is None else Path(self.checkpoint),
        )


@dataclass(frozen=True)
class Plan:
    """A campaign.

    Attributes:
        number: tells it from others; 32 bits.
        asked: the trial.
        checkpoint_every: steps from one checkpoint of the host to the next.
        board_every: the same of the board's; 0: it keeps none.
        data_sha256, network_sha256: of the data set, and of the network file that it was begun with.
    """

    number: Word
    asked: Asked
    checkpoint_every: Annotated[int, Field(ge=1, lt=1 << 32)]
    board_every: Word
    data_sha256: str
    network_sha256: str

    def trial(self, folder: Path) -> TrialSpec:
        """Return the trial of the whole campaign, with its first weights where it was given some."""
        start = folder / START
        return replace(self.asked.trial(), checkpoint=start if start.exists() else None)

    def write(self, folder: Path) -> None:
        """Write the file: a campaign is there when it is."""
        said = {"schema": SCHEMA, **asdict(self), "asked": self.asked.model_dump()}
        write_atomic(folder / NAME, json.dumps(said, indent=1) + "\n", durable=True)

    def check(self, prepared: Prepared) -> None:
        """Check that data and network are still those that the campaign was begun with.

        Raises:
            RigError: they are not.
        """
        if prepared.data.sha256 != self.data_sha256:
            raise RigError(
                f"the data set {self.asked.data} is another than the campaign was begun with: bring back the files that it had then."
            )
        if prepared.network_sha256 != self.network_sha256:
            raise RigError(
                f"the network {self.asked.network} has other first weights than the campaign was begun with: use the trainrig that began it."
            )


def read_plan(folder: Path) -> Plan:
    """Read the plan of a campaign.

    Raises:
        RigError: the folder holds none, or a damaged one.
    """
    path = folder / NAME
    if not path.exists():
        raise RigError(f"{folder} holds no campaign: `hil campaign start` begins one, or name its folder.")
    said = read_json(path, SMALL_TEXT, CURE)
    schema = said.pop("schema", None) if isinstance(said, dict) else None
    if schema != SCHEMA:
        raise RigError(
            f"{path} has schema {shown(schema)}, this trainrig reads {SCHEMA}: use the version that wrote it."
        )
    plan = rebuilt(Plan, said, str(path), CURE)
    try:
        plan.asked.trial()
    except RigError as error:
        raise RigError(f"{path} is damaged ({str(error).rstrip('.')}); {CURE}.") from error
    return plan


def read_spec(path: Path) -> Asked:
    """Read what --spec names.

    Raises:
        RigError: no such file, or a mistake in it.
    """
    try:
        _, raw = read_toml(path, SMALL_TEXT, f"give a TOML file as {DOCS} describes it")
    except RigError as error:
        raise RigError(f"--spec {error}") from error
    return asked(raw, f"--spec {path}")


def asked(raw: dict[str, Any], place: str) -> Asked:
    """Check the keys and kinds of what is asked.

    Raises:
        RigError: a mistake, named with its place.
    """
    try:
        return Asked.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part + 1) if isinstance(part, int) else part for part in first["loc"])
        raise RigError(f"{place}: {key or 'the file'}: {first['msg'].lower()}; {DOCS} has an example.") from error


def check_kept(prepared: Prepared) -> None:
    """Check that weights are all that a step leaves for the next.

    Raises:
        RigError: there is more, which a checkpoint does not have.
    """
    if prepared.spec.variant == SELECTED:
        raise RigError(
            f"a campaign trains one variant: let a trial choose the block by {SELECTED!r}, then name that block."
        )
    changes = (0, *(step for step, _ in prepared.spec.schedule))
    if any(getattr(prepared.settings_at(step), "momentum", 0) for step in changes):
        raise RigError(
            "momentum is a state beside the weights, which a checkpoint does not have: set momentum to 0 in a campaign."
        )
