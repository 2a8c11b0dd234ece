"""The samples of some classes of a data set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hil.errors import RigError
from hil.training.data.card import Arrays


def of_classes(arrays: Arrays, name: str, labels: Sequence[int]) -> Arrays:
    """Return the samples with these labels, in their order; the first label becomes 0, the next 1, and so on.

    Args:
        arrays: training images and labels, test images and labels.
        name: of the data set, for messages.
        labels: the classes that are kept.

    Raises:
        RigError: a class twice, or without training or test images.
    """
    if len(set(labels)) < len(labels):
        raise RigError(f"{name}@classes-{'-'.join(map(str, labels))} names a class twice: name each once.")
    train, test = _kept(arrays[0], arrays[1], labels), _kept(arrays[2], arrays[3], labels)
    for new, label in enumerate(labels):
        if not all((part[1] == new).any() for part in (train, test)):
            known = ", ".join(str(one) for one in np.intersect1d(arrays[1], arrays[3]))
            raise RigError(f"{name} has no class {label} in both of its parts: choose of {known}.")
    return *train, *test


def _kept(images: np.ndarray, labels: np.ndarray, wanted: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    keep = np.isin(labels, wanted)
    order = np.argsort(wanted)
    places = np.searchsorted(np.asarray(wanted)[order], labels[keep])
    return images[keep], order[places].astype(labels.dtype)
