"""Replies of the agent as checked data classes.

Every function here raises ImplausibleReply if a value is impossible or a count is wrong. The CRC-32 guarantees that a
reply arrives as it was sent, so an impossible value is the firmware's fault. Other checks decide whether a possible
value is true (docs/reported-figures.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from hil.errors import DeviceFault
from hil.link.messages import description, fixed_size

CYCLES = (0, 2**56 - 1)  # eight years at 280 MHz; the length of a stretch has 56 bits
CLOCKS = (100_000, 4_000_000_000)  # Hz
BYTES = (0, 2**32 - 1)
COUNT = (1, 255)
PHASE_BIT = 56  # of a stretch: the phase is above it, the cycles below
MOST_STRETCHES = 96
LAP_FIELDS = 4  # perturb, forward, backward, update
SLOTS = 2  # for checkpoints in a board's flash
SLOT_WORDS = 6  # of a valid slot
BYTE_CLASSES = 256  # up to which a prediction has one byte
MOST_LAPS = 32  # steps of a run whose laps are kept
LISTS = ("bookings", "laps", "profile", "stretches")  # replies that are one list of values

T = TypeVar("T")


class ImplausibleReply(DeviceFault):
    """A field of a reply has an impossible value."""

    def __init__(self, reply: str, name: str, value: object, wanted: str) -> None:
        super().__init__(f"the firmware's reply to {reply!r} has {f'{name} {value}'.strip()}, but {wanted}.")
        self.reply, self.field, self.value = reply, name, value

    @property
    def figure(self) -> str:
        """Name of the wrong field, or of the reply if it is a list."""
        return self.reply if self.reply in LISTS else self.field.split()[-1]


def _within(low: float, high: float) -> Any:
    return field(metadata={"low": low, "high": high})


@dataclass(frozen=True)
class Identity:
    """`hello`: the board and its image; `counter` is a name of messages.toml, enum counter."""

    board: str
    image_base: int
    image_digest: int
    rx_window: int = _within(1, 0xFFFF)
    clock_hz: int = _within(*CLOCKS)
    counter: str = ""

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Identity:
        """Check a decoded reply."""
        counters = {value: name for name, value in description().enums["counter"].items()}
        known = " or ".join(f"{value} ({name})" for value, name in counters.items())
        counter = _word("hello", "counter", values["counter"], counters, f"it must be {known}")
        board = values["board"].rstrip(b"\0").decode("ascii", "replace")
        return checked(cls, "hello", {**values, "board": board, "counter": counter})


@dataclass(frozen=True)
class Loaded:
    """`load_end` or `use_flash`: numbers of tensors and layers in the network file."""

    tensors: int = _within(*COUNT)
    layers: int = _within(*COUNT)


@dataclass(frozen=True)
class Planned:
    """`configure`: the memory plan in bytes, and the number of trained tensors."""

    arena_planned: int
    arena_size: int = _within(1, BYTES[1])
    tensors: int = _within(*COUNT)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Planned:
        """Check a decoded reply."""
        found = checked(cls, "configure", values)
        if found.arena_planned > found.arena_size:
            limit = f"the arena has {found.arena_size:,} bytes"
            raise ImplausibleReply("configure", "arena_planned", f"{found.arena_planned:,}", limit)
        return found


@dataclass(frozen=True)
class Stepped:
    """`step` or `run`: losses, sign, cycles by phase (with `digest` and `total`), digests of the trained tensors."""

    step: int
    loss_plus: float
    loss_minus: float
    cycles: dict[str, int]
    digests: tuple[int, ...]
    sign: int = _within(-1, 1)

    @classmethod
    def of(cls, reply: str, values: Mapping[str, Any], step: int, tensors: int) -> Stepped:
        """Check a decoded reply against the index of the (last) step and the number of tensors."""
        for name in ("loss_plus", "loss_minus"):
            if not math.isfinite(values[name]):
                raise ImplausibleReply(reply, name, values[name], "a loss must be a number")
        cycles = {name.removeprefix("cycles_"): value for name, value in values.items() if name.startswith("cycles_")}
        for name, value in cycles.items():
            _in_range(reply, f"cycles_{name}", value, *CYCLES)
        if values["step"] != step:
            raise ImplausibleReply(reply, "step", values["step"], f"step {step} was requested")
        found = checked(cls, reply, {**values, "cycles": cycles})
        digests_of(reply, found.digests, tensors)
        return found


@dataclass(frozen=True)
class Inferred:
    """`infer`: number of correct predictions, digest of all logits, predicted class of each sample."""

    correct: int
    logits_digest: int
    predictions: tuple[int, ...]

    @classmethod
    def of(cls, values: Mapping[str, Any], count: int, classes: int) -> Inferred:
        """Check a decoded reply against the number of samples and of classes."""
        _in_range("infer", "correct", values["correct"], 0, count)
        size = prediction_bytes(classes)
        data = sized("infer", "predictions", values["predictions"], count * size)
        found = tuple(int.from_bytes(data[at : at + size], "little") for at in range(0, len(data), size))
        for predicted in found:
            _in_range("infer", "predictions", predicted, 0, classes - 1)
        return checked(cls, "infer", {**values, "predictions": found})


def prediction_bytes(classes: int) -> int:
    """Return the bytes of a prediction in the reply to `infer`."""
    return 1 if classes <= BYTE_CLASSES else 2


def most_predictions(classes: int) -> int:
    """Return how many samples the reply to one `infer` has room for."""
    room = description().max_body - fixed_size(description().requests["infer"].reply)
    return room // prediction_bytes(classes)


@dataclass(frozen=True)
class AgentMemory:
    """`memory`: addresses and sizes of arena and stack, and the agent's watermarks in bytes."""

    static_bytes: int
    arena_base: int
    arena_size: int
    arena_peak: int
    stack_base: int
    stack_size: int
    stack_peak: int

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> AgentMemory:
        """Check a decoded reply."""
        for room in ("arena", "stack"):
            _in_range("memory", f"{room}_peak", values[f"{room}_peak"], 0, values[f"{room}_size"])
        return checked(cls, "memory", values)


@dataclass(frozen=True)
class CountedWork:
    """`work`: numbers of multiply-accumulates, of layer runs and of readings of the counter."""

    macs: int = _within(*CYCLES)
    layer_runs: int = _within(*CYCLES)
    bookings: int = _within(1, BYTES[1])


@dataclass(frozen=True)
class BoardCheckpoint:
    """A valid checkpoint in the board's flash; `digest` covers the digests of its tensors, `layout` their sizes."""

    slot: int
    sequence: int
    campaign: int
    step: int
    digest: int
    layout: int


@dataclass(frozen=True)
class Saved:
    """`save_checkpoint`: sequence number and slot of the new checkpoint."""

    sequence: int
    slot: int = _within(0, SLOTS - 1)

    @classmethod
    def of(cls, values: Mapping[str, Any], size: int) -> Saved:
        """Check a decoded reply against the size of all tensors in bytes."""
        if values["bytes"] != size:
            raise ImplausibleReply("save_checkpoint", "bytes", f"{values['bytes']:,}", f"the tensors have {size:,}")
        return checked(cls, "save_checkpoint", values)


def checkpoints_of(values: Mapping[str, Any]) -> tuple[int, list[BoardCheckpoint]]:
    """Return the bytes of tensors that fit a slot, and the valid checkpoints, newest first."""
    words, room = values["slots"], values["room"]
    if len(words) % SLOT_WORDS or len(words) > SLOTS * SLOT_WORDS:
        limit = f"a slot has {SLOT_WORDS}, and there are {SLOTS} slots"
        raise ImplausibleReply("checkpoints", f"{len(words)} words", "", limit)
    if words and not room:
        raise ImplausibleReply("checkpoints", "room", room, "there are checkpoints")
    found = [BoardCheckpoint(*words[at : at + SLOT_WORDS]) for at in range(0, len(words), SLOT_WORDS)]
    slots = [checkpoint.slot for checkpoint in found]
    if slots not in ([], [0], [1], [0, 1]):
        raise ImplausibleReply("checkpoints", "slots", slots, f"they must be 0 to {SLOTS - 1}, each once")
    if len(found) == SLOTS:
        ahead = (found[1].sequence - found[0].sequence) & 0xFFFFFFFF  # numbers wrap
        if ahead == 0:
            raise ImplausibleReply("checkpoints", "sequence", found[0].sequence, "two slots cannot have the same")
        found = found[::-1] if ahead < 1 << 31 else found
    return room, found


def loaded_from(values: Mapping[str, Any], slot: BoardCheckpoint) -> None:
    """Check the reply to `load_checkpoint` against the requested slot."""
    for name in ("campaign", "step", "digest"):
        wanted = getattr(slot, name)
        if values[name] != wanted:
            raise ImplausibleReply("load_checkpoint", name, values[name], f"checkpoint {slot.sequence} has {wanted}")


def laps_of(values: Mapping[str, Any], steps: int) -> list[tuple[int, ...]]:
    """Return the cycles of perturb, forward, backward and update for each step that the board kept of a run."""
    cycles = _counts("laps", values["cycles"], LAP_FIELDS * min(steps, MOST_LAPS))
    return [cycles[at : at + LAP_FIELDS] for at in range(0, len(cycles), LAP_FIELDS)]


def profile_of(values: Mapping[str, Any], layers: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the cycles of every layer, forward and backward."""
    cycles = _counts("profile", values["cycles"], 2 * layers)
    return cycles[:layers], cycles[layers:]


def bookings_of(values: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the cycles between consecutive readings of the counter; their number is odd."""
    cycles: tuple[int, ...] = values["cycles"]
    if len(cycles) % 2 == 0:
        raise ImplausibleReply("bookings", "cycles", f"of {len(cycles)} readings", "their number must be odd")
    return cycles


def stretches_of(values: Mapping[str, Any]) -> tuple[int, list[tuple[str, int]]]:
    """Return the number of stretches, and phase and cycles of the first `MOST_STRETCHES` of them."""
    phases = {number: name for name, number in description().enums["phase"].items()}
    words = _counts("stretches", values["stretches"], min(values["made"], MOST_STRETCHES), 2**64 - 1)
    known = f"a phase is {min(phases)} to {max(phases)}"
    return values["made"], [
        (_word("stretches", "phase", word >> PHASE_BIT, phases, known), word & (1 << PHASE_BIT) - 1) for word in words
    ]


def digests_of(reply: str, digests: tuple[int, ...], tensors: int) -> tuple[int, ...]:
    """Return the digests if there is one for each tensor."""
    if len(digests) != tensors:
        raise ImplausibleReply(reply, f"{len(digests)} digests", "", f"its network has {tensors} tensors")
    return digests


def sized(reply: str, name: str, data: bytes, size: int) -> bytes:
    """Return the data if it has the requested number of bytes."""
    if len(data) != size:
        raise ImplausibleReply(reply, name, f"of {len(data):,} bytes", f"{size:,} were requested")
    return data


def _counts(reply: str, cycles: Sequence[int], count: int, high: int = CYCLES[1]) -> tuple[int, ...]:
    if len(cycles) != count:
        raise ImplausibleReply(reply, f"{len(cycles)} counts", "", f"there must be {count}")
    for value in cycles:
        _in_range(reply, "a count", value, 0, high)
    return tuple(cycles)


def _word(reply: str, name: str, value: int, words: Mapping[int, str], wanted: str) -> str:
    if value not in words:
        raise ImplausibleReply(reply, name, value, wanted)
    return words[value]


def _in_range(reply: str, name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ImplausibleReply(reply, name, f"{value:,}", f"only {low:,} to {high:,} is possible")


def checked(kind: type[T], reply: str, values: Mapping[str, Any]) -> T:
    """Return the data class of a decoded reply, after a check of the ranges in its fields' metadata."""
    for each in fields(kind):  # type: ignore[arg-type]
        if each.metadata:
            _in_range(reply, each.name, values[each.name], each.metadata["low"], each.metadata["high"])
    return kind(**{each.name: values[each.name] for each in fields(kind)})  # type: ignore[arg-type]
