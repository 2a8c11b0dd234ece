"""Few-shot tasks of a data set: some images of a few classes to learn from, and others of them to test with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hil.errors import RigError

SPLITS = ("val", "test")  # the lower half of the classes is for choices, the upper half for results
QUERIES = 15  # test images of a class
DRAW = 516  # first word of the seed that draws a task; split and number follow


@dataclass(frozen=True)
class FewShot:
    """Which task of a data set.

    Attributes:
        ways: classes of the task.
        shots: support images of each class; 15 others are queries.
        split: `val` or `test`, which have no class in common.
        number: of the task.
    """

    ways: int
    shots: int
    split: str
    number: int


def few_shot_task(
    images: np.ndarray, labels: np.ndarray, name: str, task: FewShot
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return support images and labels, query images and labels; labels are 0..ways - 1.

    Classes and images are drawn with NumPy's PCG64, seeded with (516, split, number).

    Args:
        images: uint8 [n, ...], all that may be drawn.
        labels: uint8 [n].
        name: of the data set, for messages.
        task: which one.

    Raises:
        RigError: the split has fewer classes, or a class fewer images.
    """
    ways, shots, split = task.ways, task.shots, task.split
    classes = np.unique(labels)
    mine = np.array_split(classes, len(SPLITS))[SPLITS.index(split)]
    if ways > len(mine) or ways < 2:
        raise RigError(f"{name} has {len(mine)} classes for {split} tasks, not {ways}: request from 2 to {len(mine)}.")
    rng = np.random.Generator(np.random.PCG64([DRAW, SPLITS.index(split), task.number]))
    support, queries = [], []
    for label in rng.permutation(mine)[:ways]:
        (places,) = np.nonzero(labels == label)
        if len(places) < shots + QUERIES:
            raise RigError(
                f"{name} has {len(places)} images of class {label}, not {shots + QUERIES}: request fewer shots."
            )
        drawn = rng.permutation(places)[: shots + QUERIES]
        support.append(drawn[:shots])
        queries.append(drawn[shots:])
    new = np.arange(ways, dtype=np.uint8)
    places_of = [np.concatenate(parts) for parts in (support, queries)]
    return (
        images[places_of[0]],
        np.repeat(new, shots),
        images[places_of[1]],
        np.repeat(new, QUERIES),
    )
