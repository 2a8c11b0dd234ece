"""The parts of a trial's record, but for latency and energy. Bytes, counts and seconds are plain numbers; null: it could not be found out."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, with_config
from typing_extensions import NotRequired, TypedDict

from hil.record.kinds import (
    CLOSED,
    OPEN,
    Count,
    Digest,
    Flag,
    Integer,
    Items,
    Named,
    Natural,
    Number,
    NumberOrWord,
    Word,
)


@with_config(CLOSED)
class FirstDifference(TypedDict):
    """The first difference between board and reference: hil/trial/difference.py."""

    step: Integer
    layer: str
    index: Integer | None
    board: NumberOrWord
    reference: NumberOrWord
    what: str


@with_config(CLOSED)
class Accuracy(TypedDict):
    """Fractions of n images that were right."""

    before: Number | None
    after: Number | None
    reference_after: Number | None
    n: Count


@with_config(CLOSED)
class Sram(TypedDict):
    """Bytes: the watermarks of the board and their sum, its budget, the plan, and the paper's formula."""

    static: Count | None
    arena_peak: Count | None
    stack_peak: Count | None
    total: Count | None
    budget: Count | None
    planned: Count | None
    analytic: Count | None


@with_config(CLOSED)
class SramProvenance(TypedDict):
    """The word for each figure of `sram`."""

    static: Word
    arena_peak: Word
    stack_peak: Word
    total: Word
    budget: Word
    planned: Word
    analytic: Word


@with_config(CLOSED)
class ProbedSram(TypedDict):
    """Bytes: the watermarks as the probe reads them."""

    static: Integer
    arena_peak: Integer
    stack_peak: Integer


@with_config(CLOSED)
class Signs(TypedDict):
    """INT8*: steps whose integer sign was that of the float losses, of all that were compared."""

    right: Count
    of: Count
    asked: Count


@with_config(CLOSED)
class Buffer(TypedDict):
    """One buffer of the plan: bytes, and its first and last time slot."""

    name: str
    size: Count
    first: Count
    last: Count
    offset: Count


@with_config(CLOSED)
class MemoryPlan(TypedDict):
    """docs/memory.md: names of the time slots, and every buffer in bytes."""

    total: Count
    slots: Annotated[Items[str], Field(max_length=4096)]
    buffers: Annotated[Items[Buffer], Field(max_length=4096)]


@with_config(CLOSED)
class Profile(TypedDict):
    """Cycles of the first compared step by layer."""

    forward: Named[Count]
    backward: Named[Count]


@with_config(CLOSED)
class Analytic(TypedDict):
    """ElasticZO, equations (13) to (15), or what PMT counts (section 4.3); and counts of the network."""

    equation: Literal["(13)", "(14)", "(15)", "PMT, section 4.3"]
    bytes: Count
    macs_forward: Count
    macs_step: NotRequired[Count]
    layer_runs: NotRequired[Count]
    weights: Count
    weights_by_zo: Count


@with_config(CLOSED)
class Work(TypedDict):
    """What the board counted in the first compared step: multiply-accumulates, layer runs, readings of the cycle counter with that of the digests."""

    macs: Count
    layer_runs: Count
    bookings: NotRequired[Count]


@with_config(CLOSED)
class Tried(TypedDict):
    """A block that was tried on the device (PMT, section 3.3.1): accuracy on held-out samples, or why it was left out."""

    block: Natural
    before: Number | None
    after: Number | None
    planned: Integer | None
    reason: str


@with_config(CLOSED)
class Evaluation(TypedDict):
    """A point of the accuracy curve: the index of the next step, and the fraction of n images that was right on both sides."""

    step: Count
    board: Number
    reference: Number | None
    n: Count


@with_config(OPEN)
class Flash(TypedDict):
    """How the image got onto the board.

    The route is pyocd, halfkay, uf2, agent or kernel; cycles: how often this computer has programmed the board's flash.
    """

    route: str
    programmed: Flag
    cycles: Count | None


@with_config(CLOSED)
class Firmware(TypedDict):
    """Name of the image's file, XXH32 of the flashed bytes, and whether it is the prebuilt one that the manifest lists or the user's own."""

    file: str
    digest: Digest
    in_manifest: Flag
