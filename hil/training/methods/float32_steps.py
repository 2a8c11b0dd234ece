"""The smallest steps that act on weights in `float32` (docs/arithmetic-float32.md, section 10)."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter

import numpy as np

Named = Iterable[tuple[str, np.ndarray]]  # trained tensors with their names


def fault_of_step(setting: str, value: float, tensors: Named) -> str:
    """Return why most weights of a tensor would not change by a step, a sentence; empty if they would."""
    least, name = max(((_least_step(array), name) for name, array in tensors), key=itemgetter(0), default=(0.0, ""))
    if np.float32(value) >= least:
        return ""
    return (
        f"setting {setting} is {value}: most weights of {name} would not change by it, the smallest step "
        f"that acts there is {least}, choose at least that."
    )


def _least_step(array: np.ndarray) -> float:
    """Return half the unit in the last place of the lower median of the magnitudes of a tensor."""
    sizes = np.sort(np.abs(array), axis=None)
    return float(np.spacing(sizes[(sizes.size - 1) // 2])) / 2
