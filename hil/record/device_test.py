"""The model of one test of a device under test: an entry of `device_tests` in results.json, and device_test.json."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, with_config
from typing_extensions import NotRequired, TypedDict

from hil.record.field_types import (
    CLOSED,
    Count,
    Entry,
    Flag,
    Items,
    Named,
    NotNegative,
    Number,
    Origin,
    Sentence,
    Sha256,
)  # fmt: skip
from hil.record.verdicts import Verdict

DEVICE_TEST = "device_test.json"
DeviceReality = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,31}$")]  # hardware, a stand-in, or that of a command


@with_config(CLOSED)
class ComparedTensor(TypedDict):
    """One tensor of a comparison, over all its steps; `differing` of its `elements` have other bits."""

    tensor: Sentence
    dtype: Sentence
    shape: Items[Count]
    steps: Count
    elements: Count
    differing: Count
    tolerance: Sentence
    tolerance_fields: Named[Any]


@with_config(CLOSED)
class Difference(TypedDict):
    """The first element outside the tolerance; of a tensor with another dtype or shape, without `index`."""

    step: Count
    tensor: Sentence
    device: Sentence
    reference: Sentence
    index: NotRequired[Items[Count]]
    outside: NotRequired[Count]
    elements: NotRequired[Count]
    sentence: Sentence


@with_config(CLOSED)
class Worst(TypedDict):
    """The largest errors of one tensor over all steps; null where an error is not finite."""

    tensor: Sentence
    max_ulp: Count | None
    max_relative: NotNegative | None
    max_abs: NotNegative | None


@with_config(CLOSED)
class KeptFile(TypedDict):
    """An .npz file with the tensors of the device at each step, `NAME@STEP`, and its SHA-256."""

    file: Sentence
    sha256: Sha256


@with_config(CLOSED)
class Compared(TypedDict):
    """A comparison with a reference."""

    name: Annotated[str, Field(description="given by the test; empty without one")]
    reference: Annotated[Sentence, Field(description="what the device was compared with")]
    reference_kind: Sentence
    tolerance: Annotated[Sentence, Field(description="all tolerances in words")]
    steps: Annotated[Count, Field(description="steps that were compared")]
    tensors: Items[ComparedTensor]
    elements: Annotated[Count, Field(description="elements that were compared, over all steps and tensors")]
    differing: Annotated[Count, Field(description="of these, elements with other bits")]
    first_difference: Difference | None
    verdict: Literal["pass", "fail", "blocked", "refused"]
    sentence: Annotated[Sentence, Field(description="why")]
    worst: Annotated[Items[Worst], Field(description="the largest errors of each tensor")]
    drift: Annotated[str, Field(description="file with the errors of every tensor at every step; empty if none")]
    kept: NotRequired[Annotated[KeptFile, Field(description="file with the tensors of the device; not there if none")]]


@with_config(CLOSED)
class LearningJudged(TypedDict):
    """What `expect_learning` judged: one sentence for each rule that held."""

    losses: Count
    first_loss: Number | None
    last_loss: Number | None
    accuracy: Number | None
    judged: Annotated[Items[Sentence], Field(min_length=1)]


@with_config(CLOSED)
class FigureBudget(TypedDict):
    """A budget of a figure, in the unit of the figure. `limit` is null if a relative budget has no median yet."""

    source: Sentence
    limit: Number | None
    relative: Number | None
    upper: Flag
    verdict: Literal["pass", "fail", "inconclusive", "not judged"]
    sentence: Sentence


@with_config(CLOSED)
class DeviceFigure(TypedDict):
    """A figure that the test gave, with what may be said of its budgets."""

    name: Sentence
    value: Number
    unit: Sentence
    uncertainty: Annotated[NotNegative | None, Field(description="standard uncertainty; null if not evaluated")]
    provenance: Origin
    note: str
    source: Annotated[Literal["hil_figure", "record_property"], Field(description="how the test gave it")]
    budgets: Items[FigureBudget]


@with_config(CLOSED)
class DeviceImage(TypedDict):
    """The firmware: name and SHA-256 of its ELF file, and whether it is none of the prebuilt images."""

    file: Sentence
    sha256: Sha256
    own: Flag
    compilers: Annotated[
        Items[Sentence],
        Field(description="compilers of firmware of one's own, with the flags that its debug information notes"),
    ]


@with_config(CLOSED)
class ReportedCase(TypedDict):
    """One case of a report of a test framework."""

    name: Sentence
    verdict: Literal["pass", "fail", "skipped"]
    place: Annotated[str, Field(description="file and line in the source; empty if the report does not say it")]
    message: str
    seconds: Annotated[NotNegative | None, Field(description="by the report; null if it does not say it")]
    line: Annotated[Sentence, Field(description="the line of the report with the verdict")]


@with_config(CLOSED)
class CasesReported(TypedDict):
    """A whole report of a test framework that the device printed."""

    format: Literal["unity", "googletest", "ctest"]
    verdict: Literal["pass", "fail"]
    sentence: Sentence
    cases: Annotated[Items[ReportedCase], Field(min_length=1)]
    outside: Annotated[Items[Sentence], Field(description="failures outside of a case")]


@with_config(CLOSED)
class OtherDevice(TypedDict):
    """A device of the test behind the first one (`hil_duts`): what it has of its own."""

    place: Sentence | None
    probe: Sentence | None
    flash: Literal["programmed", "held", "loaded", "none"]
    verified: Literal["probe", "agent", "read_back", "none"] | None
    flash_cycles: Count | None
    resets: Count
    power_cycles: Count
    exit_code: int | None


class DeviceTest(Entry):
    """One entry of `device_tests`: a test that used hil_dut, hil_compare, hil_figure or expect_learning.

    Until the test has ended its verdict is `interrupted`, so that the record of a killed run is correct.
    """

    test: Sentence = Field(description="pytest's node id, as in `tests`")
    folder: Sentence = Field(description="folder of the test in that of the run")
    board: str | None = Field(description="board of the catalogue; null if the test named none")
    core: str | None = Field(description="core of the board, such as cortex-m7; null without a device")
    reality: DeviceReality | None = Field(
        description="what the device was: hardware, a stand-in, or the word that rig.toml has for a command; null if "
        "none was reached"
    )
    attached: Flag | None = Field(
        default=None, description="whether rig.toml names the board, and not as a command; null without a board"
    )
    command: Items[Sentence] = Field(
        default=[], description="program and arguments of rig.toml, if the board is a command"
    )
    exit_code: int | None = Field(
        default=None,
        description="of this command, or of firmware with semihosting; minus the number of a signal; null if it did "
        "not end, or nobody has looked",
    )
    place: str | None = Field(
        default=None, description="which board of its kind it was: `id` in rig.toml, or its labgrid place; null without"
    )
    quarantine: str = Field(
        default="", description="one sentence if the board was in quarantine when the test ended, else empty"
    )
    image: DeviceImage | None = Field(description="the firmware; null without a device")
    flash: Literal["programmed", "held", "loaded", "none"] = Field(
        default="none", description="held: the flash had the image already; loaded: the stand-in loads it itself"
    )
    verified: Literal["probe", "agent", "read_back", "none"] | None = Field(
        default=None, description="what has checked that the board has the image; null of a stand-in, or if unknown"
    )
    flash_cycles: Count | None = Field(
        default=None, description="how often this computer has programmed the flash; null if unknown"
    )
    resets: Count = Field(default=0, description="how often the test, or the rig for it, has reset the board")
    power_cycles: Count = Field(default=0, description="how often its power was switched off and on")
    baud: Count | None = Field(default=None, description="rate of the serial port; null if it was not opened")
    clock_hz: Count | None = Field(default=None, description="clock of the core, declared; null without a device")
    devices: Count = Field(
        default=1,
        description="how many devices the test used; counts, faults and warnings are of all, the rest is of the first",
    )
    others: Items[OtherDevice] = Field(default=[], description="the devices behind the first one, in order")
    received: Count = Field(default=0, description="bytes that came from the device on its serial port")
    matches: Count = Field(default=0, description="how often a pattern of `expect` or `lines` matched")
    probe: str | None = Field(
        default=None, description="id of the debug probe, or `GDB stub of qemu`; null if none was used"
    )
    reads: Count = Field(default=0, description="how often memory or core was read through the probe")
    comparisons: Items[Compared] = Field(default=[], description="comparisons with a reference")
    learning: Items[LearningJudged] = Field(default=[], description="what `expect_learning` judged")
    figures: Items[DeviceFigure] = Field(default=[], description="figures that the test gave")
    reports: Items[CasesReported] = Field(
        default=[], description="reports of Unity, GoogleTest and CTest that the device printed"
    )
    judged: Items[Sentence] = Field(
        default=[], description="what the verdict of a test that passed rests on, one sentence each"
    )
    faults: Items[Sentence] = Field(default=[], description="faults of the device that the probe saw")
    warnings: Items[Sentence] = Field(default=[], description="what the reader of the figures has to know")
    verdict: Verdict = Field(default="interrupted", description="verdict of this attempt of the test")
    reason: str = Field(
        default="the run ended before this test did.", description="one sentence if the test did not pass"
    )
    stage: str = Field(default="", description="stage at which the test was blocked")
    began: Sentence | None = Field(default=None, description="time at which the test began, in UTC")
    wall_s: NotNegative = Field(default=0.0, description="time of the test on the host in seconds")

    @property
    def steps_compared(self) -> int:
        """Steps that were compared, over all comparisons."""
        return sum(each["steps"] for each in self.comparisons)


DEVICE: TypeAdapter[DeviceTest] = TypeAdapter(DeviceTest)
