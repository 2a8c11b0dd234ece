"""Files of weights: .npz with the trained tensors as w0, w1, ..., which any trial can start from (`TrialSpec.checkpoint`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hil.record.whole import whole


def write_weights(path: Path, weights: Sequence[np.ndarray], **beside: np.ndarray) -> None:
    """Write a file of weights whole or not at all, and wait until the disk has it.

    Args:
        path: of the file.
        weights: the trained tensors, in order.
        beside: other arrays of the file, by name.

    Raises:
        OSError: the disk takes no more; what was at `path` before is still there.
    """
    arrays: dict[str, Any] = {f"w{index}": tensor for index, tensor in enumerate(weights)} | beside
    with whole(path, durable=True) as partial, partial.open("wb") as file:
        np.savez(file, **arrays)
