"""Weight files: .npz with the trained tensors as w0, w1, ...; any trial can start from one (`TrialSpec.checkpoint`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hil.atomic_write import atomic_file


def write_weights(
    path: Path,
    weights: Sequence[np.ndarray],
    others: Mapping[str, np.ndarray] | None = None,
    durable: bool = False,
) -> None:
    """Write a weight file atomically.

    Args:
        path: of the file.
        weights: the tensors, in any shapes and dtypes.
        others: more arrays for it, by name.
        durable: sync it to the disk.

    Raises:
        OSError: the disk is full; a file that was at `path` before is unchanged.
    """
    arrays: dict[str, Any] = {f"w{index}": tensor for index, tensor in enumerate(weights)} | dict(others or {})
    with atomic_file(path, durable) as partial, partial.open("wb") as file:
        np.savez(file, **arrays)
