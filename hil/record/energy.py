"""The entry `energy` of a trial (docs/energy.md). Its parts are open: a meter may report more fields."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field, with_config
from pydantic.config import JsonDict
from typing_extensions import NotRequired, TypedDict

from hil.record.field_types import (
    CLOSED,
    OPEN,
    Count,
    Flag,
    Items,
    Named,
    Natural,
    Number,
    Positive,
    Sentence,
    Share,
    Word,
)


@with_config(OPEN)
class Figure(TypedDict):
    """A figure with its unit, standard uncertainty and provenance."""

    value: Number
    unit: str
    uncertainty: Number | None
    provenance: Word


@with_config(OPEN)
class OfSteps(TypedDict):
    """Energy and time of some steps: net (above idle), idle and gross energy."""

    net: Figure
    idle: Figure
    gross: Figure
    time: Figure


@with_config(CLOSED)
class PerUnit(TypedDict):
    """Energy and time of a step, a sample and an epoch."""

    step: OfSteps
    sample: OfSteps
    epoch: OfSteps


@with_config(OPEN)
class PhaseEnergy(TypedDict):
    """Energy and power of one phase, over some stretches of it; `seconds` is their total time."""

    energy: Figure
    power: Figure
    seconds: Number
    stretches: Natural


@with_config(OPEN)
class EnergyPhases(TypedDict):
    """Energy by phase, or the reason why the phases cannot be separated."""

    seconds: Named[Positive]
    split: NotRequired[Named[PhaseEnergy]]
    refusals: NotRequired[Named[Sentence]]
    refused: str | None
    first_window: NotRequired[Annotated[Items[list[Any]], Field(max_length=4096)]]


@with_config(OPEN)
class Temperature(TypedDict):
    """Temperature around the board and in the meter, in degrees Celsius."""

    ambient_c: NotRequired[Number | None]
    meter_c: NotRequired[Number | None]


@with_config(OPEN)
class ToAccuracy(TypedDict):
    """Energy and time of the steps up to a point of the accuracy curve; the accuracy is over n images."""

    steps: Count
    accuracy: Share
    accuracy_uncertainty: NotRequired[Number | None]
    n: NotRequired[Count]
    net: Figure
    idle: Figure
    gross: Figure
    time: Figure


GOAL_RULE: JsonDict = {
    "if": {"properties": {"reached": {"const": True}}},
    "then": {"required": ["steps", "not_yet_after", "net", "gross", "time"]},
}


@with_config(ConfigDict(extra="allow", json_schema_extra=GOAL_RULE))
class Goal(TypedDict):
    """Energy and time to the requested accuracy."""

    accuracy: Share
    reached: Flag


@with_config(OPEN)
class MlperfTiny(TypedDict):
    """Energy by the windows of MLPerf Tiny, and how the measurement differs from its rules."""

    windows: Any
    median_uj: Number
    provenance: Any
    windows_asked: NotRequired[Natural]
    shortest_s: NotRequired[Positive]
    idle_subtracted: NotRequired[Flag]
    differs: Annotated[Items[str], Field(min_length=1)]


@with_config(OPEN)
class Energy(TypedDict):
    """Energy of the trial (docs/energy.md)."""

    per_step: Figure
    per_sample: NotRequired[Figure]
    per_epoch: NotRequired[Figure]
    gross: Figure
    idle: Figure
    net: Figure
    idle_power: Figure
    active_power: Figure
    duration: Figure
    per: NotRequired[PerUnit]
    charge: NotRequired[Figure]
    voltage: NotRequired[Figure]
    statistic: NotRequired[str]
    rules: NotRequired[str | None]
    subtracts_idle: NotRequired[Flag]
    aliased: NotRequired[Flag]
    asked: NotRequired[Named[Any] | None]
    phases: NotRequired[EnergyPhases | None]
    temperature: NotRequired[Temperature | None]
    steps_per_window: NotRequired[Natural]
    windows: Items[Named[Any]]
    budget: Items[Named[Any]]
    meter: Named[Any]
    assumptions: Items[str]
    flags: Items[str]
    laps_s: NotRequired[Annotated[Items[Number], Field(max_length=1024)]]
    to_accuracy: NotRequired[Items[ToAccuracy]]
    goal: NotRequired[Goal | None]
    mlperf_tiny: NotRequired[MlperfTiny | None]
