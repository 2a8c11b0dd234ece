"""Number the classes of own data, and check that each can be learned and tested."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from hil.errors import RigError, printable, shown

MOST = 1024  # classes, as many as a network may have (docs/network.md)
IN_A_BYTE = 256
LONGEST = 100  # characters of a name
NUMBER = re.compile(r"0|[1-9]\d{0,8}", re.ASCII)


def numbers_of(names: Sequence[str], place: str) -> dict[str, int]:
    """Return the label of every class.

    If all names are whole numbers, they are the labels; otherwise the names are numbered from 0 in the order of their
    code points.

    Raises:
        RigError: too many classes, a number that is no label, or a name that no page can show.
    """
    distinct = sorted(set(names))
    for name in distinct:
        if not 0 < len(name) <= LONGEST or printable(name) != name or not name.strip():
            raise RigError(f"{place} has a class {shown(name)}: name it in 1 to {LONGEST} printable characters.")
    if len(distinct) > MOST:
        raise RigError(f"{place} has {len(distinct):,} classes: give at most {MOST:,}.")
    if all(NUMBER.fullmatch(name) for name in distinct):
        by_number = sorted(distinct, key=int)
        if by_number and int(by_number[-1]) >= MOST:
            raise RigError(
                f"{place} has the label {by_number[-1]}: number the classes from 0, at most {MOST - 1:,}, or name "
                "them in letters."
            )
        return {name: int(name) for name in by_number}
    return {name: number for number, name in enumerate(distinct)}


def labels_of(names: Sequence[str], numbers: Mapping[str, int]) -> np.ndarray:
    """Return the labels of samples, [n]: uint8, or uint16 if the classes do not have room in a byte."""
    return np.array(
        [numbers[name] for name in names], np.uint8 if max(numbers.values(), default=0) < IN_A_BYTE else np.dtype("<u2")
    )


def check_classes(numbers: Mapping[str, int], train: np.ndarray, test: np.ndarray, place: str, cure: str) -> None:
    """Check labels [n] of both parts; `cure` says how a class gets samples of a part.

    Raises:
        RigError: one class only, a class without training samples, or no test samples.
    """
    if len(numbers) < 2:
        only = f"one class only, {next(iter(numbers))!r}" if numbers else "no samples"
        raise RigError(f"{place} has {only}: give samples of at least two classes.")
    in_train = set(train.tolist())
    for name, number in numbers.items():
        if number not in in_train:
            raise RigError(f"{place} has no training sample of class {name!r}: {cure}.")
    if not len(test):
        raise RigError(f"{place} has no test samples: {cure}.")
