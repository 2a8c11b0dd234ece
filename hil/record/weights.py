"""Weight files: .npz with the trained tensors as w0, w1, ...; any trial can start from one (`TrialSpec.checkpoint`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hil.record.atomic_write import atomic_file


def write_weights(path: Path, weights: Sequence[np.ndarray], **others: np.ndarray) -> None:
    """Write a weight file atomically and sync it to the disk; `others` are more arrays for it, by name.

    Raises:
        OSError: the disk is full; a file that was at `path` before is unchanged.
    """
    arrays: dict[str, Any] = {f"w{index}": tensor for index, tensor in enumerate(weights)} | others
    with atomic_file(path, durable=True) as partial, partial.open("wb") as file:
        np.savez(file, **arrays)
