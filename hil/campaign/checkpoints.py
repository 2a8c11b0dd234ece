"""Checkpoints of a campaign on the host: the trained tensors with the step that comes next, in files that are whole or not there.

Each is an .npz that any trial can start from (`TrialSpec.checkpoint`): arrays w0, w1, ... and, beside them, `about`, JSON with the step, the digest and
the campaign. The zip file has a CRC-32 of every array; the digest is computed again from the arrays when a checkpoint is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xxhash

from hil.network.npz import read_npz
from hil.record.weights import write_weights
from hil.trial.outcome import step_digest

KEPT = 2  # the newest is of use as soon as it is whole; the one before is there until then, and where the disk damages the newest
LARGEST = 64 << 20  # bytes of a file, and of its tensors: those of the largest network have 2 MB
_NAME = re.compile(r"checkpoint-(\d{10})\.npz")


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that was read and is good: its file, the index of the next step, and the digest of its tensors."""

    path: Path
    step: int
    digest: int


def tensor_digests(weights: Sequence[np.ndarray]) -> tuple[int, ...]:
    """Return XXH32 of every tensor: int8, or little-endian int32."""
    return tuple(xxhash.xxh32_intdigest(tensor.astype(tensor.dtype.newbyteorder("<")).tobytes()) for tensor in weights)


class Checkpoints:
    """Args:
    folder: of the campaign.
    campaign: its number, which every checkpoint bears.
    """

    def __init__(self, folder: Path, campaign: int) -> None:
        self._folder, self._campaign = folder, campaign

    def write(self, step: int, weights: Sequence[np.ndarray]) -> Checkpoint:
        """Write a checkpoint, wait until the disk has it, then remove all but the newest two.

        Args:
            step: index of the next step.
            weights: the trained tensors.

        Raises:
            OSError: the disk takes no more; what was there is there.
        """
        digest = step_digest(tensor_digests(weights))
        about = {"campaign": self._campaign, "step": step, "digest": f"{digest:08x}"}
        path = self._folder / f"checkpoint-{step:010d}.npz"
        write_weights(path, weights, about=np.frombuffer(json.dumps(about).encode(), np.uint8))
        for old in self._files()[KEPT:]:
            old.unlink(missing_ok=True)
        return Checkpoint(path, step, digest)

    def good(self) -> Iterator[Checkpoint]:
        """Yield the checkpoints that are whole and of this campaign, the newest first."""
        for path in self._files():
            found = self._read(path)
            if found is not None:
                yield found

    def forget_parts(self) -> None:
        """Remove what cuts have left of files that were being written."""
        for partial in self._folder.glob("*.part"):
            partial.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        return sorted((path for path in self._folder.iterdir() if _NAME.fullmatch(path.name)), reverse=True)

    def _read(self, path: Path) -> Checkpoint | None:
        try:
            arrays = read_npz(path, "use the one before", LARGEST)
            about = json.loads(arrays["about"].tobytes())
            weights = [arrays[f"w{index}"] for index in range(len(arrays) - 1)]
            found = Checkpoint(path, int(about["step"]), int(about["digest"], 16))
            mine = about["campaign"] == self._campaign and path.name == f"checkpoint-{found.step:010d}.npz"
            return found if mine and step_digest(tensor_digests(weights)) == found.digest else None
        except Exception:  # what is damaged may raise nearly anything; the next older checkpoint is there for this
            return None
