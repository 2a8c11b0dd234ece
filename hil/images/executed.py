"""What a core has executed of an image: its blocks, and what came after each, for line and branch coverage."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

MOST_ADDRESS = 1 << 32
FIELDS: dict[str, tuple[str, tuple[int, ...]]] = {
    "blocks": ("<u4", (-1, 2)),
    "ends": ("<u4", (-1,)),
    "followed": ("u1", (-1, 2)),
}


@dataclass(frozen=True)
class Executed:
    """What a core has executed.

    Attributes:
        blocks: uint32[n, 2]: address and bytes of each block of instructions that were executed one after the other,
            ascending. Blocks may overlap.
        ends: uint32[m]: addresses at which blocks ended, ascending, each once.
        followed: uint8[m, 2]: after a block that ended there came, 0: the instruction at this address, 1: another one.
    """

    blocks: np.ndarray
    ends: np.ndarray
    followed: np.ndarray

    @cached_property
    def stretches(self) -> tuple[np.ndarray, np.ndarray]:
        """Starts and ends (exclusive) of the executed memory, without overlaps, int64, ascending."""
        starts = self.blocks[:, 0].astype(np.int64)
        ends = np.maximum.accumulate(starts + self.blocks[:, 1])
        if not len(starts):
            return starts, ends
        begins = np.concatenate(([True], starts[1:] > ends[:-1]))
        return starts[begins], ends[np.concatenate((begins[1:], [True]))]

    def touches(self, first: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Return bool[k]: whether a byte of each range [first, end), int64[k], was executed."""
        starts, ends = self.stretches
        after = np.concatenate((starts, [np.iinfo(np.int64).max]))[np.searchsorted(ends, first, side="right")]
        found: np.ndarray = after < end
        return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Executed:
        """Return what a file holds of one core.

        Raises:
            KeyError, ValueError: an array is missing, has another type or shape, or they contradict each other.
        """
        for name, (kind, shape) in FIELDS.items():
            array = arrays[name]
            if array.dtype != np.dtype(kind) or array.ndim != len(shape) or array.shape[1:] != shape[1:]:
                raise ValueError(f"{name} is {array.dtype}{list(array.shape)}, not {np.dtype(kind)}{list(shape)}")
        found = cls(*(arrays[name] for name in FIELDS))
        starts = found.blocks[:, 0].astype(np.int64)
        after = starts + found.blocks[:, 1]
        if (np.diff(starts) <= 0).any() or not found.blocks[:, 1].all() or (after > MOST_ADDRESS).any():
            raise ValueError("a block of it is empty, out of order, or ends after the last address")
        if len(found.ends) != len(found.followed):
            raise ValueError(f"it has {len(found.ends):,} ends, and {len(found.followed):,} successors")
        if (np.diff(found.ends.astype(np.int64)) <= 0).any() or (found.followed > 1).any():
            raise ValueError("the ends of its blocks are out of order, or a successor of one is neither 0 nor 1")
        other = found.ends[~np.isin(found.ends, after)]
        if len(other):
            raise ValueError(f"something came after {int(other[0]):#010x}, where no block of it ends")
        return found

    def to_json(self) -> dict[str, str]:
        """Return the arrays, little-endian, in base64."""
        return {
            name: base64.b64encode(getattr(self, name).astype(kind).tobytes()).decode()
            for name, (kind, _) in FIELDS.items()
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, str]) -> Executed:
        """Return what `to_json` made. Raises KeyError or ValueError if it did not."""
        return cls(
            *(
                np.frombuffer(base64.b64decode(fields[name]), kind).reshape(shape)
                for name, (kind, shape) in FIELDS.items()
            )
        )


def union(parts: Iterable[Executed]) -> Executed:
    """Return what at least one of the parts executed; nothing without parts."""
    all_parts = list(parts)
    blocks = np.concatenate([np.zeros((0, 2), np.uint32), *(part.blocks for part in all_parts)])
    ends = np.concatenate([np.zeros(0, np.uint32), *(part.ends for part in all_parts)])
    followed = np.concatenate([np.zeros((0, 2), np.uint8), *(part.followed for part in all_parts)])
    each, place = np.unique(ends, return_inverse=True)
    merged = np.zeros((len(each), 2), np.uint8)
    np.maximum.at(merged, place.reshape(-1), followed)
    pairs = np.unique(blocks[:, 0].astype(np.uint64) << np.uint64(32) | blocks[:, 1])
    return Executed(
        np.stack((pairs >> np.uint64(32), pairs & np.uint64(0xFFFFFFFF)), axis=1).astype(np.uint32), each, merged
    )
