"""From the features and labels of a file to the arrays of a data set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hil.errors import RigError
from hil.training.data.card import Arrays, ByteMapping
from hil.training.data.own.byte_range import as_bytes, check_finite, range_of, range_of_network
from hil.training.data.own.labels import check_classes, labels_of, numbers_of
from hil.training.data.own.network_input import NetworkInput
from hil.training.data.own.split import digests, shuffled, split
from hil.training.data.own.statement import RANGES, Statement

MOST_AXES = 3
MORE = "give more samples of it, or split them yourself as train_x, train_y, test_x, test_y of an .npz"
GIVE = "give training and test samples of every class"


@dataclass(frozen=True)
class FilePart:
    """Samples of a file.

    Attributes:
        name: of the array with the values, for messages.
        values: [n, ...] of any kind of number.
        labels: name of the class of each sample.
    """

    name: str
    values: np.ndarray
    labels: Sequence[str]


@dataclass(frozen=True)
class Made:
    """The arrays of a data set, the names of its classes by label, and how its numbers became bytes."""

    arrays: Arrays
    classes: dict[int, str]
    range: ByteMapping | None


def made_of(parts: Sequence[FilePart], stated: Statement, of: NetworkInput | None, path: Path) -> Made:
    """Return the data set of one part, which is split by content, or of a training and a test part.

    Args:
        parts: of the file.
        stated: what its card states.
        of: the input of the network; its shape is given to samples with as many numbers in the same order.
        path: of the file, for messages.

    Raises:
        RigError: values or labels that make no data set.
    """
    for part in parts:
        if not 1 <= part.values.ndim - 1 <= MOST_AXES or not part.values.size:
            raise RigError(
                f"{path}: {part.name} has the shape {list(part.values.shape)}: give samples of 1 to {MOST_AXES} axes, "
                "none of them empty, as [n, ...]."
            )
        if len(part.values) != len(part.labels):
            raise RigError(
                f"{path} has {len(part.values):,} samples in {part.name} and {len(part.labels):,} labels of them: give "
                "one label for each."
            )
    if len({part.values.shape[1:] for part in parts}) > 1:
        raise RigError(
            f"{path} has samples of {' and '.join(str(list(part.values.shape[1:])) for part in parts)}: give training "
            "and test samples the same shape."
        )
    numbers = numbers_of([name for part in parts for name in part.labels], str(path))
    labels = [labels_of(part.labels, numbers) for part in parts]
    contents = [digests(part.values) for part in parts]
    if len(parts) == 1:
        train, test = split(contents[0], stated.split_seed, stated.test_percent)
        values, labels = ([one[train], one[test]] for one in (parts[0].values, labels[0]))
    else:
        orders = [shuffled(content, stated.split_seed) for content in contents]
        values = [part.values[order] for part, order in zip(parts, orders, strict=True)]
        labels = [one[order] for one, order in zip(labels, orders, strict=True)]
    check_classes(numbers, labels[0], labels[1], str(path), MORE if len(parts) == 1 else GIVE)
    shape = shape_of(values[0].shape[1:], of, values[0].dtype == np.uint8)
    train_values, test_values = (one.reshape(len(one), *shape) for one in values)
    for part in parts:
        if part.values.dtype.kind == "f":
            check_finite(part.values, f"{path}: {part.name}")
    by = None
    if train_values.dtype != np.uint8:
        by = range_of(train_values) if stated.range == RANGES[0] else range_of_network(of, path.name)
        train_values, test_values = as_bytes(train_values, by), as_bytes(test_values, by)
    return Made(
        (train_values, labels[0], test_values, labels[1]), {number: name for name, number in numbers.items()}, by
    )


def shape_of(found: tuple[int, ...], of: NetworkInput | None, images: bool) -> tuple[int, int, int]:
    """Return height, width and channels of samples.

    A network's shape is taken if it has the same axes but for those of size 1, or as many numbers as samples of one
    axis. Otherwise samples are as they are: one axis is channels; two are an image (of bytes), or samples in time and
    channels of a series of width 1; three are height, width and channels.
    """
    if of is not None and (
        [size for size in of.shape if size > 1] == [size for size in found if size > 1]
        or (len(found) == 1 and math.prod(of.shape) == found[0])
    ):
        return of.shape
    match found:
        case (channels,):
            return 1, 1, channels
        case (height, width) if images:
            return height, width, 1
        case (time, channels):
            return time, 1, channels
    return found[0], found[1], found[2]
