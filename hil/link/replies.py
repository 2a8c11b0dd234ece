"""What an agent may say: each reply as a checked data class, or one sentence that names reply, field and value.

A reply arrives whole or not at all (its CRC-32), so one that is out of shape is the firmware's word. Whether a figure is true is asked elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from hil.errors import DeviceFault
from hil.link.messages import description

CYCLES = (0, 2**56 - 1)  # eight years at 280 MHz; a stretch has as many bits
CLOCKS = (100_000, 4_000_000_000)  # Hz
BYTES = (0, 2**32 - 1)
COUNT = (1, 255)
PHASE_BIT = 56  # of a stretch: the phase above it, the cycles below
MOST_STRETCHES = 96
LAP_FIELDS = 4  # perturb, forward, backward, update
SLOTS = 2  # for checkpoints in a board's flash
SLOT_WORDS = 6  # of a slot that is whole
MOST_LAPS = 32  # steps of a run whose laps are kept
LISTS = ("bookings", "laps", "profile", "stretches")  # replies that are a figure of many values

T = TypeVar("T")


class OddReply(DeviceFault):
    """A reply has a field that cannot be."""

    def __init__(self, reply: str, name: str, value: object, wanted: str) -> None:
        super().__init__(f"the firmware's reply to {reply!r} has {f'{name} {value}'.strip()}, where {wanted}.")
        self.reply, self.field, self.value = reply, name, value

    @property
    def figure(self) -> str:
        """The name of what is wrong: the field; of a reply that is a list, the reply."""
        return self.reply if self.reply in LISTS else self.field.split()[-1]


def _within(low: float, high: float) -> Any:
    return field(metadata={"low": low, "high": high})


@dataclass(frozen=True)
class Identity:
    """`hello`: who the board is, `counter` by its name (messages.toml, enum counter)."""

    board: str
    image_base: int
    image_digest: int
    rx_window: int = _within(1, 0xFFFF)
    clock_hz: int = _within(*CLOCKS)
    counter: str = ""

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Identity:
        """Check a decoded reply.

        Raises:
            OddReply: a field cannot be.
        """
        counters = {value: name for name, value in description().enums["counter"].items()}
        known = " or ".join(f"{value} ({name})" for value, name in counters.items())
        counter = _word("hello", "counter", values["counter"], counters, known)
        board = values["board"].rstrip(b"\0").decode("ascii", "replace")
        return _checked(cls, "hello", {**values, "board": board, "counter": counter})


@dataclass(frozen=True)
class Loaded:
    """`load_end` or `use_flash`: what the agent read in the network file."""

    tensors: int = _within(*COUNT)
    layers: int = _within(*COUNT)

    @classmethod
    def of(cls, reply: str, values: Mapping[str, Any]) -> Loaded:
        """Check a decoded reply; `OddReply` where it cannot be."""
        return _checked(cls, reply, values)


@dataclass(frozen=True)
class Planned:
    """`configure` or `configure_graph`: the agent's memory plan in bytes, and how many tensors it trains (None: not told)."""

    arena_planned: int
    arena_size: int = _within(1, BYTES[1])
    tensors: int | None = None

    @classmethod
    def of(cls, reply: str, values: Mapping[str, Any]) -> Planned:
        """Check a decoded reply; `OddReply` where it cannot be."""
        found = _checked(cls, reply, {"tensors": None, **values})
        if found.arena_planned > found.arena_size:
            raise OddReply(
                reply, "arena_planned", f"{found.arena_planned:,}", f"the arena has {found.arena_size:,} bytes"
            )
        return found


@dataclass(frozen=True)
class Stepped:
    """`step` or `run`: loss terms, sign, cycles by phase (`digest` and `total` among them), the digest of every trained tensor."""

    step: int
    loss_plus: float
    loss_minus: float
    cycles: dict[str, int]
    digests: tuple[int, ...]
    sign: int = _within(-1, 1)

    @classmethod
    def of(cls, reply: str, values: Mapping[str, Any], step: int, tensors: int) -> Stepped:
        """Check a decoded reply against the index of the (last) step and the number of tensors; `OddReply` where it cannot be."""
        for name in ("loss_plus", "loss_minus"):
            if not math.isfinite(values[name]):
                raise OddReply(reply, name, values[name], "a loss is a number")
        cycles = {name.removeprefix("cycles_"): value for name, value in values.items() if name.startswith("cycles_")}
        for name, value in cycles.items():
            _in_range(reply, f"cycles_{name}", value, *CYCLES)
        if values["step"] != step:
            raise OddReply(reply, "step", values["step"], f"step {step} was asked for")
        found = _checked(cls, reply, {**values, "cycles": cycles})
        digests_of(reply, found.digests, tensors)
        return found


@dataclass(frozen=True)
class Inferred:
    """`infer`: how many were right, the digest of all logits, the class of each sample."""

    correct: int
    logits_digest: int
    predictions: bytes

    @classmethod
    def of(cls, values: Mapping[str, Any], count: int) -> Inferred:
        """Check a decoded reply against the number of samples; `OddReply` where it cannot be."""
        _in_range("infer", "correct", values["correct"], 0, count)
        sized("infer", "predictions", values["predictions"], count)
        return _checked(cls, "infer", values)


@dataclass(frozen=True)
class Memory:
    """`memory`: where arena and stack are, and the agent's watermarks in bytes."""

    static_bytes: int
    arena_base: int
    arena_size: int
    arena_peak: int
    stack_base: int
    stack_size: int
    stack_peak: int

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Memory:
        """Check a decoded reply; `OddReply` where it cannot be."""
        for room in ("arena", "stack"):
            _in_range("memory", f"{room}_peak", values[f"{room}_peak"], 0, values[f"{room}_size"])
        return _checked(cls, "memory", values)


@dataclass(frozen=True)
class Work:
    """`work`: multiply-accumulates, runs of a layer, readings of the counter."""

    macs: int = _within(*CYCLES)
    layer_runs: int = _within(*CYCLES)
    bookings: int = _within(1, BYTES[1])

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Work:
        """Check a decoded reply; `OddReply` where it cannot be."""
        return _checked(cls, "work", values)


@dataclass(frozen=True)
class BoardCheckpoint:
    """A whole checkpoint in a slot of the board's flash; `digest` is over the digests of its tensors, `layout` over their sizes."""

    slot: int
    sequence: int
    campaign: int
    step: int
    digest: int
    layout: int


@dataclass(frozen=True)
class Saved:
    """`save_checkpoint`: the number of the new checkpoint, and where it is."""

    sequence: int
    slot: int = _within(0, SLOTS - 1)

    @classmethod
    def of(cls, values: Mapping[str, Any], size: int) -> Saved:
        """Check a decoded reply against the bytes of all tensors; `OddReply` where it cannot be."""
        if values["bytes"] != size:
            raise OddReply("save_checkpoint", "bytes", f"{values['bytes']:,}", f"the tensors have {size:,}")
        return _checked(cls, "save_checkpoint", values)


def checkpoints_of(values: Mapping[str, Any]) -> tuple[int, list[BoardCheckpoint]]:
    """Return the bytes of tensors that a slot holds, and the whole checkpoints, the newest first; `OddReply` where they cannot be."""
    words, room = values["slots"], values["room"]
    if len(words) % SLOT_WORDS or len(words) > SLOTS * SLOT_WORDS:
        raise OddReply(
            "checkpoints", f"{len(words)} words", "", f"a slot has {SLOT_WORDS}, and there are {SLOTS} slots"
        )
    if words and not room:
        raise OddReply("checkpoints", "room", room, "there are checkpoints")
    found = [BoardCheckpoint(*words[at : at + SLOT_WORDS]) for at in range(0, len(words), SLOT_WORDS)]
    if [one.slot for one in found] not in ([], [0], [1], [0, 1]):
        raise OddReply("checkpoints", "slots", [one.slot for one in found], f"they are 0 to {SLOTS - 1}, each once")
    if len(found) == SLOTS:
        ahead = (found[1].sequence - found[0].sequence) & 0xFFFFFFFF  # numbers go round
        if ahead == 0:
            raise OddReply("checkpoints", "sequence", found[0].sequence, "no two slots have the same")
        found = found[::-1] if ahead < 1 << 31 else found
    return room, found


def loaded_from(values: Mapping[str, Any], slot: BoardCheckpoint) -> None:
    """Check the reply to `load_checkpoint` against the slot that was asked for; `OddReply` where it is of another."""
    for name in ("campaign", "step", "digest"):
        if values[name] != getattr(slot, name):
            raise OddReply(
                "load_checkpoint", name, values[name], f"checkpoint {slot.sequence} has {getattr(slot, name)}"
            )


def laps_of(values: Mapping[str, Any], steps: int) -> list[tuple[int, ...]]:
    """Return perturb, forward, backward and update of each lap of a run of so many steps; `OddReply` where they cannot be."""
    cycles = _counts("laps", values["cycles"], LAP_FIELDS * min(steps, MOST_LAPS))
    return [cycles[at : at + LAP_FIELDS] for at in range(0, len(cycles), LAP_FIELDS)]


def profile_of(values: Mapping[str, Any], layers: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the cycles of every layer, forward and backward; `OddReply` where they cannot be."""
    cycles = _counts("profile", values["cycles"], 2 * layers)
    return cycles[:layers], cycles[layers:]


def bookings_of(values: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the cycles between two readings of the counter, an odd number of them; `OddReply` where they cannot be."""
    cycles: tuple[int, ...] = values["cycles"]
    if len(cycles) % 2 == 0:
        raise OddReply("bookings", "cycles", f"of {len(cycles)} readings", "their number is odd")
    return cycles


def stretches_of(values: Mapping[str, Any]) -> tuple[int, list[tuple[str, int]]]:
    """Return how many stretches there were, and phase and cycles of those that are told; `OddReply` where they cannot be."""
    phases = {number: name for name, number in description().enums["phase"].items()}
    told = _counts("stretches", values["stretches"], min(values["made"], MOST_STRETCHES), BYTES[1] << 32 | BYTES[1])
    known = f"a phase is {min(phases)} to {max(phases)}"
    return values["made"], [
        (_word("stretches", "phase", each >> PHASE_BIT, phases, known), each & (1 << PHASE_BIT) - 1) for each in told
    ]


def digests_of(reply: str, digests: tuple[int, ...], tensors: int) -> tuple[int, ...]:
    """Return digests, one for each tensor; `OddReply` where there are more or fewer."""
    if len(digests) != tensors:
        raise OddReply(reply, f"{len(digests)} digests", "", f"its network has {tensors} tensors")
    return digests


def sized(reply: str, name: str, data: bytes, size: int) -> bytes:
    """Return data that has as many bytes as were asked for; `OddReply` where it has not."""
    if len(data) != size:
        raise OddReply(reply, name, f"of {len(data):,} bytes", f"{size:,} were asked for")
    return data


def _counts(reply: str, cycles: Sequence[int], count: int, high: int = CYCLES[1]) -> tuple[int, ...]:
    if len(cycles) != count:
        raise OddReply(reply, f"{len(cycles)} counts", "", f"there should be {count}")
    for value in cycles:
        _in_range(reply, "a count", value, 0, high)
    return tuple(cycles)


def _word(reply: str, name: str, value: int, words: Mapping[int, str], wanted: str) -> str:
    if value not in words:
        raise OddReply(reply, name, value, wanted if wanted.startswith("a ") else f"it is {wanted}")
    return words[value]


def _in_range(reply: str, name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise OddReply(reply, name, f"{value:,}", f"{low:,} to {high:,} can be")


def _checked(kind: type[T], reply: str, values: Mapping[str, Any]) -> T:
    """Make a data class of the fields that it has."""
    for each in fields(kind):  # type: ignore[arg-type]
        if each.metadata:
            _in_range(reply, each.name, values[each.name], each.metadata["low"], each.metadata["high"])
    return kind(**{each.name: values[each.name] for each in fields(kind)})  # type: ignore[arg-type]
