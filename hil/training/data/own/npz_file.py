"""Read own data from an .npz file: train_x, train_y, test_x, test_y, or x and y."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hil.bounded_npz import NUMBERS, read_npz
from hil.errors import RigError
from hil.training.data.own.features import FilePart

SPLIT, WHOLE = ("train_x", "train_y", "test_x", "test_y"), ("x", "y")
CURE = f"give an .npz with the arrays {', '.join(SPLIT)}, or {' and '.join(WHOLE)}, of numbers or text, no objects"


def read_parts(path: Path) -> list[FilePart]:
    """Return the parts of a file.

    Raises:
        RigError: it is missing, damaged or too large, or has other arrays; labels are neither whole numbers nor text.
    """
    arrays = read_npz(path, CURE, kinds=NUMBERS + "US")
    if sorted(arrays) not in (sorted(SPLIT), sorted(WHOLE)):
        names = ", ".join(sorted(arrays))[:100] or "no arrays"
        raise RigError(f"{path} has {names}: {CURE}.")
    keys = SPLIT if "train_x" in arrays else WHOLE
    parts = []
    for x, y in (keys[at : at + 2] for at in range(0, len(keys), 2)):
        values = arrays[x]
        if values.dtype.kind not in NUMBERS or not values.ndim:
            raise RigError(f"{path}: {x} holds {values.dtype}{list(values.shape)}: give numbers as [n, ...].")
        parts.append(FilePart(x, values, _names(arrays[y], f"{path}: {y}")))
    return parts


def _names(labels: np.ndarray, place: str) -> list[str]:
    """Return the names of classes, of labels [n] or [n, 1]; a whole number is its decimal digits."""
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1 or labels.dtype.kind not in "iuUS":
        raise RigError(
            f"{place} holds {labels.dtype}{list(labels.shape)}: give one whole number or one name for each sample."
        )
    if labels.dtype.kind in "iu" and labels.size and labels.min() < 0:
        raise RigError(f"{place} holds the label {labels.min()}: number the classes from 0.")
    try:
        return [one.decode() if isinstance(one, bytes) else str(one) for one in labels.tolist()]
    except (ValueError, SystemError, OverflowError) as error:  # bytes that are no UTF-8, numbers that are no character
        raise RigError(f"{place} holds a name that is no text: write the names in UTF-8.") from error
