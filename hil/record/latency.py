"""The entry `latency` of a trial (docs/performance.md), in cycles."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import with_config
from typing_extensions import TypedDict

from hil.record.field_types import CLOSED, NO_COLUMN, Count, Integer, Items, Named, Natural, NotNegative, Number


@with_config(CLOSED)
class Histogram(TypedDict):
    """n bins: `edges` (n + 1, in cycles) and `counts` (n). The last bin includes its right edge."""

    edges: Items[Integer]
    counts: Items[Count]


@with_config(CLOSED)
class Group(TypedDict):
    """One phase or layer over n steps.

    `bookings` is the number of counter readings. Of their cost, `subtracted` cycles are already subtracted from the
    figures, and at most `bound` cycles are still included.
    """

    n: Annotated[Natural, NO_COLUMN]
    mean: Number
    median: Number
    sd: NotNegative
    least: Integer
    most: Integer
    p5: Number
    p95: Number
    p99: Number
    bookings: Annotated[Count, NO_COLUMN]
    subtracted: Count
    bound: Count
    histogram: Annotated[Histogram, NO_COLUMN]


@with_config(CLOSED)
class Booking(TypedDict):
    """Cost of one counter reading in cycles, over n readings."""

    n: Count
    least: Count
    median: Count
    most: Count


@with_config(CLOSED)
class Phases(TypedDict):
    """The phases of a step. `total` is their sum; `digest` is computed at the end of a run and belongs to no step."""

    perturb: Group
    forward: Group
    backward: Group
    update: Group
    digest: Group
    total: Group


@with_config(CLOSED)
class Layers(TypedDict):
    """The layers of a step, by name."""

    forward: Named[Group]
    backward: Named[Group]


@with_config(CLOSED)
class Latency(TypedDict):
    """Latency of the trial in cycles (docs/performance.md)."""

    steps: Natural
    run_steps: Annotated[Natural, NO_COLUMN]
    counter: Annotated[Literal["none", "dwt", "systick"], NO_COLUMN]
    clock_hz: Annotated[Natural, NO_COLUMN]
    provenance: Literal["measured", "modelled"]
    booking: Annotated[Booking, NO_COLUMN]
    phases: Phases
    layers: Annotated[Layers | None, NO_COLUMN]
    budget_ms: Number | None
    judged: str
