"""Checkpoints of a campaign on the host, written atomically, and the step from which the campaign continues.

A checkpoint is an .npz that any trial can start from (`TrialSpec.checkpoint`): arrays w0, w1, ..., and `about`, JSON
with the next step, the digest and the number of the campaign. The zip file has a CRC-32 of every array; the digest is
computed again from the arrays when a checkpoint is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xxhash

from hil.bounded_npz import read_npz
from hil.record.weights import write_weights
from hil.step_digest import step_digest
from hil.training.campaign.journal import JournalState

KEPT = 2  # the one before the newest is needed if the disk damages the newest
LARGEST = 64 << 20  # bytes of a file, and of its tensors; those of the largest network have 2 MB
_NAME = re.compile(r"checkpoint-(\d{10})\.npz")


@dataclass(frozen=True)
class Checkpoint:
    """A valid checkpoint: its file, the index of the next step, and the digest of its tensors."""

    path: Path
    step: int
    digest: int


@dataclass(frozen=True)
class ResumePoint:
    """Where a campaign continues."""

    step: int  # index of the next step
    checkpoint: Path | None  # the weights before it; None at the beginning
    again: int  # number of steps in the journal that are computed again


def tensor_digests(weights: Sequence[np.ndarray]) -> tuple[int, ...]:
    """Return XXH32 of every tensor: int8, or little-endian int32."""
    return tuple(xxhash.xxh32_intdigest(tensor.astype(tensor.dtype.newbyteorder("<")).tobytes()) for tensor in weights)


class Checkpoints:
    """The checkpoints in the folder of a campaign, each with the number of the campaign."""

    def __init__(self, folder: Path, campaign: int) -> None:
        self._folder, self._campaign = folder, campaign

    def write(self, step: int, weights: Sequence[np.ndarray]) -> Checkpoint:
        """Write the weights before a step, sync them to the disk, then remove all but the newest two.

        Raises:
            OSError: the disk is full; the former checkpoints remain.
        """
        digest = step_digest(tensor_digests(weights))
        about = {"campaign": self._campaign, "step": step, "digest": f"{digest:08x}"}
        path = self._folder / f"checkpoint-{step:010d}.npz"
        write_weights(path, weights, {"about": np.frombuffer(json.dumps(about).encode(), np.uint8)}, durable=True)
        for old in self._files()[KEPT:]:
            old.unlink(missing_ok=True)
        return Checkpoint(path, step, digest)

    def valid(self) -> Iterator[Checkpoint]:
        """Yield the undamaged checkpoints of this campaign, the newest first."""
        for path in self._files():
            found = self._read(path)
            if found is not None:
                yield found

    def remove_partial(self) -> None:
        """Remove the files whose writing was interrupted."""
        for partial in self._folder.glob("*.part"):
            partial.unlink(missing_ok=True)

    def resume_point(self, state: JournalState) -> ResumePoint:
        """Return where to continue: at the newest valid checkpoint that agrees with the journal.

        The journal has the digest on which board and reference agreed after the step before the checkpoint. If the end
        of the journal was lost with the disk, the checkpoint is used anyway: it is written only after both agreed.
        """
        for found in self.valid():
            known = state.digest(found.step - 1)
            if found.step > state.first_step and known in (None, found.digest):
                return ResumePoint(found.step, found.path, max(0, state.next_step - found.step))
        return ResumePoint(state.first_step, None, state.next_step - state.first_step)

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
        except Exception:  # a damaged file may raise exceptions of many types; the next older one is used then
            return None
