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

    per_step: Annotated[
        Figure, Field(description="energy of a step: mean of the net energy over the windows, or as `rules` say")
    ]
    per_sample: NotRequired[Annotated[Figure, Field(description="energy of a sample, from `per_step`")]]
    per_epoch: NotRequired[Annotated[Figure, Field(description="energy of an epoch, from `per_step`")]]
    gross: Annotated[Figure, Field(description="net plus idle energy of a window")]
    idle: Annotated[Figure, Field(description="idle power times the duration of a window")]
    net: Annotated[Figure, Field(description="energy above idle of a window")]
    idle_power: Annotated[Figure, Field(description="mean power of the board asleep")]
    active_power: Annotated[Figure, Field(description="mean power over a window")]
    duration: Annotated[Figure, Field(description="duration of a window")]
    per: NotRequired[
        Annotated[PerUnit, Field(description="net, idle and gross energy and time of a step, a sample and an epoch")]
    ]
    charge: NotRequired[Annotated[Figure, Field(description="charge of a window")]]
    voltage: NotRequired[Annotated[Figure, Field(description="mean voltage of the supply")]]
    statistic: NotRequired[Annotated[str, Field(description="how `per_step` follows from the windows: mean or median")]]
    rules: NotRequired[
        Annotated[str | None, Field(description="benchmark whose rules the measurement follows; null if none")]
    ]
    subtracts_idle: NotRequired[Annotated[Flag, Field(description="whether `per_step` is net energy")]]
    aliased: NotRequired[Annotated[Flag, Field(description="whether the readings may miss a part of the step")]]
    asked: NotRequired[Annotated[Named[Any] | None, Field(description="what the trial asked for")]]
    phases: NotRequired[Annotated[EnergyPhases | None, Field(description="energy by phase")]]
    temperature: NotRequired[Annotated[Temperature | None, Field(description="temperature of board and meter")]]
    steps_per_window: NotRequired[Annotated[Natural, Field(description="steps between the two edges of a window")]]
    windows: Annotated[Items[Named[Any]], Field(description="the figures of each window")]
    budget: Annotated[
        Items[Named[Any]], Field(description="the parts of the uncertainty, each with its standard uncertainty")
    ]
    meter: Annotated[Named[Any], Field(description="the instrument, its settings and its data sheet")]
    assumptions: Annotated[Items[str], Field(description="what the figures assume")]
    flags: Annotated[Items[str], Field(description="what the reader has to know (docs/energy.md)")]
    laps_s: NotRequired[
        Annotated[
            Annotated[Items[Number], Field(max_length=1024)],
            Field(description="seconds of each step of the last window, by the board's clock"),
        ]
    ]
    to_accuracy: NotRequired[
        Annotated[Items[ToAccuracy], Field(description="energy and time up to each point of the accuracy curve")]
    ]
    goal: NotRequired[Annotated[Goal | None, Field(description="energy and time to the requested accuracy")]]
    mlperf_tiny: NotRequired[Annotated[MlperfTiny | None, Field(description="energy by the rules of MLPerf Tiny")]]
