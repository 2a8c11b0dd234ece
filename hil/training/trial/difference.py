"""The first difference between board and reference in a step, and its layer.

The reference knows only the settings and the data. A step is right if the digest of every trained tensor, both
loss terms and the sign agree to the last bit.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import xxhash

from hil.link.replies import Stepped

if TYPE_CHECKING:
    from hil.dut import CoreProbe
    from hil.images import Image
    from hil.training.methods.plan import PlannedTensor
    from hil.training.reference.methods import StepOutcome


@dataclass(frozen=True)
class BoardDifference:
    """The first difference between board and reference.

    Attributes:
        step: index of the step (from 0), or -1 before training.
        layer: name of the layer (or `loss`) that is wrong first.
        index: flattened index of the first element that differs, or None when only a digest is known.
        board: value on the board.
        reference: value of the reference.
        what: `weight`, `output` of the layer, `error` after the layer, `loss_plus`, `loss_minus` or `sign`.
    """

    step: int
    layer: str
    index: int | None
    board: float | int | str
    reference: float | int | str
    what: str

    def sentence(self) -> str:
        """Return the difference as one sentence, without a full stop."""
        place = "" if self.index is None else f"[{self.index}]"
        values = f"{self.board} on the board and {self.reference} in the reference"
        return f"step {self.step}: {self.what} {self.layer}{place} is {values}"


@dataclass
class ProbeCheck:
    """Digests of the trained tensors, computed from memory that the probe reads: a check independent of the agent.

    Attributes:
        places: (offset in the arena, bytes) of each tensor.
    """

    probe: CoreProbe
    image: Image
    places: tuple[tuple[int, int], ...]

    def digests(self) -> tuple[int, ...]:
        """Return XXH32 of every trained tensor, from the board's memory."""
        arena = self.image.symbols["__arena_start"]
        return tuple(xxhash.xxh32_intdigest(self.probe.read(arena + offset, size)) for offset, size in self.places)


def bits_of(value: float) -> int:
    """Return the bits of a binary32 value, to compare values bit for bit."""
    return int.from_bytes(struct.pack("<f", value), "little")


def differing_tensors(board: tuple[int, ...], reference: tuple[int, ...]) -> list[int]:
    """Return the indices of the tensors whose digests differ."""
    return [index for index, (ours, theirs) in enumerate(zip(board, reference, strict=True)) if ours != theirs]


def first_digest(
    step: int,
    tensors: Sequence[PlannedTensor],
    board: tuple[int, ...],
    reference: tuple[int, ...],
    what: str = "weight",
) -> BoardDifference | None:
    """Return the first of the trained tensors whose digests differ; None if all agree."""
    wrong = differing_tensors(board, reference)
    if not wrong:
        return None
    ours, theirs = (f"digest {digests[wrong[0]]:08X}" for digests in (board, reference))
    return BoardDifference(step, tensors[wrong[0]].name, None, ours, theirs, what)


def differing_terms(reply: Stepped, outcome: StepOutcome) -> list[tuple[str, float, float]]:
    """Return the loss terms and the sign that differ, as (name, board, reference)."""
    pairs = [
        ("loss_plus", reply.loss_plus, float(outcome.loss_plus)),
        ("loss_minus", reply.loss_minus, float(outcome.loss_minus)),
    ]
    terms = [(name, board, reference) for name, board, reference in pairs if bits_of(board) != bits_of(reference)]
    if reply.sign != outcome.sign:
        terms.append(("sign", reply.sign, outcome.sign))
    return terms


def first_weight(step: int, layer: str, board: bytes, reference: np.ndarray) -> BoardDifference:
    """Compare a fetched tensor with the reference's (any type and shape) and name the first element that differs."""
    found = first_element(np.frombuffer(board, reference.dtype), reference.reshape(-1))
    if found is None:
        return BoardDifference(step, layer, None, "another digest", "its digest", "weight")
    return BoardDifference(step, layer, *found, "weight")


def first_element(ours: np.ndarray, theirs: np.ndarray) -> tuple[int, float | str, float | str] | None:
    """Return index and both values of the first element whose bits differ, of arrays of one type; None if none does."""
    bits = np.dtype(f"u{ours.dtype.itemsize}")  # 0.0 is not -0.0, and a NaN may be the same one
    indices = np.flatnonzero(np.ascontiguousarray(ours).view(bits) != np.ascontiguousarray(theirs).view(bits))
    if not indices.size:
        return None
    index = int(indices[0])
    return index, _number(ours[index].item()), _number(theirs[index].item())


def _number(value: float) -> float | str:
    """Return a value as the record can hold it: a number, or the name of what is none."""
    return value if math.isfinite(value) else str(value)
