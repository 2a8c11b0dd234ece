"""Training samples that stay on the board: put there once, then named by their numbers (docs/link.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xxhash

from hil.boards import Board
from hil.errors import Blocked, DeviceFault, RigError
from hil.training.data import DataSet
from hil.training.graph.plan import up

RAM, FLASH = "ram", "flash"
LABEL = np.dtype("<u2")
# Bytes of the address in flash: pyOCD writes the STM32H7B3 in pages of 32 KB (hil/targets/pyocd_targets), each of four
# sectors, and so a page has to be of one origin.
ALIGNED = 0x8000


@dataclass(frozen=True)
class KeptSamples:
    """The training samples of a data set, as they lie on the board.

    Attributes:
        place: `ram` or `flash`.
        count: samples.
        data: label (u16, little-endian) and pixels (u8, in the order height, width, channel) of each, end to end.
        address: in flash; 0 in RAM, where the samples are in front of the arena.
    """

    place: str
    count: int
    data: bytes
    address: int = 0

    @classmethod
    def of(cls, place: str, data: DataSet) -> KeptSamples:
        """Return the training samples of a data set, in RAM or for flash, whose address is not known yet."""
        count = len(data.train_images)
        table = np.empty((count, sample_bytes(data.train_images[0].size)), np.uint8)
        table[:, : LABEL.itemsize] = data.train_labels.astype(LABEL).view(np.uint8).reshape(count, -1)
        table[:, LABEL.itemsize :] = data.train_images.reshape(count, -1)
        return cls(place, count, table.tobytes())

    @cached_property
    def digest(self) -> int:
        """XXH32 of the data."""
        return xxhash.xxh32_intdigest(self.data)

    def as_recorded(self) -> dict[str, Any]:
        """Return what a record has of them."""
        return {"samples": self.count, "bytes": len(self.data), "digest": f"{self.digest:08x}"}

    @property
    def in_ram(self) -> int:
        """Bytes of arena that they take."""
        return up(len(self.data), 8) if self.place == RAM else 0


def sample_bytes(elements: int) -> int:
    """Return the bytes of a kept sample with so many input values."""
    return LABEL.itemsize + elements


def flash_room(board: Board, network: int) -> tuple[int, int]:
    """Return the first address and the end of the flash for samples, behind a network file of so many bytes.

    Both are 0 on a board that has no flash for them.
    """
    room = board.room_for_samples
    if room is None:
        return 0, 0
    end = room.start + room.size
    return min(up(room.start + network, ALIGNED), end), end


def address_in_flash(board: Board, network: int, size: int) -> int | None:
    """Return where `size` bytes of samples lie: at the end of the room, for any network; None if they do not fit."""
    first, end = flash_room(board, network)
    address = (end - size) // ALIGNED * ALIGNED
    return address if first and address >= first else None


def most_in_flash(board: Board, network: int, each: int) -> int:
    """Return how many samples of `each` bytes the flash holds behind a network file of so many bytes."""
    first, end = flash_room(board, network)
    return (end - first) // each


def most_that_fit(fits: Callable[[int], bool], limit: int) -> int:
    """Return the largest number up to `limit` that fits, 0 if none does; `fits` holds up to it and not beyond."""
    low, high = 0, limit + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def too_many(board: str, place: str, data: DataSet, size: int, most: dict[str, int]) -> RigError:
    """Return the refusal of samples that do not fit, with what would; `most`: how many RAM and flash hold."""
    count = len(data.train_images)
    there = " and ".join(f"{number:,} in {_memory(name)}" for name, number in most.items())
    other = [name for name, number in most.items() if number >= count]
    cure = f"choose keep={other[0]!r}" if other else f"train on a part of the set ({data.name}@N, docs/data.md)"
    return RigError(
        f"TrialSpec: keep is {place!r}, but the {count:,} training samples of {data.name} are {size:,} bytes, and "
        f"{board} has room for {there} beside this trial: {cure}, or leave keep out."
    )


def _memory(place: str) -> str:
    return "RAM" if place == RAM else place


def check_kept(board: str, kept: KeptSamples, digest: int) -> None:
    """Check the digest of the samples that the agent keeps.

    Raises:
        DeviceFault: RAM does not hold what was sent.
        Blocked: flash holds other samples, or was cut short.
    """
    if digest == kept.digest:
        return
    differ = f"the digest {digest:08X}, and the {kept.count:,} training samples have {kept.digest:08X}"
    if kept.place == RAM:
        raise DeviceFault(f"the agent reports samples in its RAM with {differ}, though all of them were received.")
    raise Blocked(
        "flash",
        f"the flash of {board} from 0x{kept.address:08X} on has {differ}: another set is there, or its programming was "
        "cut short: run again with --reflash; if the difference remains, the flash is worn.",
    )
