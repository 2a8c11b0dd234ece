"""The parts of a trial's record, except latency and energy. A value that is unknown is null."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, with_config
from typing_extensions import NotRequired, TypedDict

from hil.record.field_types import (
    CLOSED,
    NO_COLUMN,
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
    Sha256,
    Word,
)

MOST_CHANNELS = 1 << 16


@with_config(CLOSED)
class FirstDifference(TypedDict):
    """The first difference between board and reference (hil/training/trial/difference.py)."""

    step: Integer
    layer: str
    index: Integer | None
    board: NumberOrWord
    reference: NumberOrWord
    what: str


@with_config(CLOSED)
class Accuracy(TypedDict):
    """Fractions of n images that were classified correctly."""

    before: Number | None
    after: Number | None
    reference_after: Number | None
    n: Count


@with_config(CLOSED)
class RamRegion(TypedDict):
    """One owner's bytes in a memory of the board (docs/memory.md).

    `claimed_by` is `static`, `stack`, `arena`, `dma`, `section NAME`, `segment 0xADDRESS` or `unclaimed`. `used` is
    null for unclaimed RAM that was not compared.
    """

    memory: str
    claimed_by: str
    start: Count
    size: Count
    used: Count | None


@with_config(CLOSED)
class Sram(TypedDict):
    """SRAM in bytes: what the board uses and its sum, the budget, the plan, the paper's formula, and all RAM.

    `sections` are the image's own sections outside static memory, arena and stack; `unclaimed` is RAM that nothing in
    the image claims and that was written, null if it was not compared.
    """

    static: Count | None
    arena_peak: Count | None
    stack_peak: Count | None
    sections: NotRequired[Count | None]
    unclaimed: NotRequired[Count | None]
    total: Count | None
    budget: Count | None
    planned: Count | None
    analytic: Count | None
    regions: NotRequired[Annotated[Items[RamRegion], NO_COLUMN]]


@with_config(CLOSED)
class SramProvenance(TypedDict):
    """Provenance of each figure of `sram`."""

    static: Word
    arena_peak: Word
    stack_peak: Word
    sections: NotRequired[Word]
    unclaimed: NotRequired[Word]
    total: Word
    budget: Word
    planned: Word
    analytic: Word


@with_config(CLOSED)
class ProbedSram(TypedDict):
    """The watermarks in bytes, as read through the debug probe."""

    static: Integer
    arena_peak: Integer
    stack_peak: Integer


@with_config(CLOSED)
class Signs(TypedDict):
    """INT8*: `right` counts the steps whose integer sign is that of the float losses, `of` all compared steps."""

    right: Count
    of: Count
    asked: Count


@with_config(CLOSED)
class Buffer(TypedDict):
    """One buffer of the plan: size and offset in bytes, first and last time slot."""

    name: str
    size: Count
    first: Count
    last: Count
    offset: Count


@with_config(CLOSED)
class MemoryPlan(TypedDict):
    """The memory plan (docs/memory.md): total in bytes, names of the time slots, buffers."""

    total: Count
    slots: Annotated[Items[str], Field(max_length=4096)]
    buffers: Annotated[Items[Buffer], Field(max_length=4096)]


@with_config(CLOSED)
class Profile(TypedDict):
    """Cycles of the first compared step, by layer."""

    forward: Named[Count]
    backward: Named[Count]


@with_config(CLOSED)
class Analytic(TypedDict):
    """Memory by ElasticZO, equations (2) to (4) in FP32, (13) to (15) in INT8, by PMT, section 4.3, or in words.

    And counts of the network.
    """

    equation: Literal[
        "(2)",
        "(3)",
        "(4)",
        "(13)",
        "(14)",
        "(15)",
        "PMT, section 4.3",
        "QZO-FF, inference and trained weights",
        "QuZO, inference and trained weights",
        "perturbed scales, inference and gains",
        "FQT, segments of figure 4",
    ]
    bytes: Count
    trainable: NotRequired[Count]
    feature_maps: NotRequired[Count]
    static: NotRequired[Count]
    macs_forward: Count
    macs_step: NotRequired[Count]
    layer_runs: NotRequired[Count]
    weights: Count
    weights_by_zo: Count


@with_config(CLOSED)
class Work(TypedDict):
    """Counted by the board in the first compared step: multiply-accumulates, layer runs, cycle counter readings."""

    macs: Count
    layer_runs: Count
    bookings: NotRequired[Count]


@with_config(CLOSED)
class Tried(TypedDict):
    """A block tried on the device (PMT, section 3.3.1): accuracy on held-out samples, or why it was left out."""

    block: Natural
    before: Number | None
    after: Number | None
    planned: Integer | None
    reason: str


@with_config(CLOSED)
class Evaluation(TypedDict):
    """A point of the accuracy curve: index of the next step, and the fraction of n images correct on each side."""

    step: Count
    board: Number
    reference: Number | None
    n: Count


@with_config(CLOSED)
class ByteRange(TypedDict):
    """How numbers became bytes: a byte p stands for scale x (p - zero), one of each for a channel or for all."""

    rule: str
    scale: Annotated[Items[Number], Field(max_length=MOST_CHANNELS)]
    zero: Annotated[Items[Integer], Field(max_length=MOST_CHANNELS)]


@with_config(CLOSED)
class ClassCount(TypedDict):
    """A class of a data set: its label, its name, and its training and test images."""

    label: Count
    name: str
    train: Count
    test: Count


@with_config(CLOSED)
class DataCard(TypedDict):
    """The data card (docs/data.md). `sha256` is of the content before `changes`, as `sha256_of` says.

    `file` is the name of the user's file or folder without the folders that hold it; empty for a set of the package.
    """

    name: str
    kind: str
    file: str
    changes: str
    sha256: Sha256
    sha256_of: str
    licence: str
    source: str
    split: str
    split_seed: Integer | None
    shape: Annotated[Items[Natural], Field(min_length=3, max_length=3)]
    range: ByteRange | None
    classes: Annotated[Items[ClassCount], Field(max_length=1024)]


@with_config(OPEN)
class Flash(TypedDict):
    """How the image was flashed.

    `route` is pyocd, halfkay, uf2, agent or kernel; `cycles` counts how often this computer programmed the flash.
    """

    route: str
    programmed: Flag
    cycles: Count | None


@with_config(CLOSED)
class SourceModel(TypedDict):
    """The .tflite that a network came from, without its folder."""

    file: str
    sha256: Sha256


@with_config(CLOSED)
class NetworkOfUser(TypedDict):
    """A network that was given by path: the file without its folder, and the model that it is or came from.

    `trained_sha256` is that of trained.hnet in the folder of the trial, the network with the weights that board and
    reference agree on after the last compared step; null if they do not agree, or no step was made.
    """

    file: str
    sha256: Sha256
    model: SourceModel | None
    trained_sha256: Sha256 | None


@with_config(CLOSED)
class Kept(TypedDict):
    """Training samples that stayed on the board (docs/link.md): their number, bytes, and XXH32 over the bytes."""

    samples: Natural
    bytes: Natural
    digest: Digest


@with_config(CLOSED)
class Firmware(TypedDict):
    """File name of the image, XXH32 of the flashed bytes, and whether the manifest of prebuilt images lists it."""

    file: str
    digest: Digest
    in_manifest: Flag
