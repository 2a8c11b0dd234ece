"""The data card: what a data set is, where it comes from, who may use it, and how its bytes were made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # training images and labels, test images and labels
NOT_STATED = "not stated"
OF_ARRAYS = "the four arrays as IDX files: training images and labels, test images and labels"


@dataclass(frozen=True)
class ByteMapping:
    """How numbers became bytes: a byte p stands for scale x (p - zero), rounded to nearest, clipped to 0..255.

    Attributes:
        rule: where scale and zero come from, in words.
        scale, zero: of each channel, or of all channels alike if there is one.
    """

    rule: str
    scale: tuple[float, ...]
    zero: tuple[int, ...]


@dataclass(frozen=True)
class ClassSizes:
    """A class: its label, its name, and its images in the training and in the test part."""

    label: int
    name: str
    train: int
    test: int


@dataclass(frozen=True)
class DataSetCard:
    """A data set on one page. No field holds the path of a folder, so a card can be published.

    Attributes:
        name: of the set, or the title that its owner gave it.
        kind: what it was read or made from.
        file: name of the user's file or folder, without the folders that hold it; empty for a set of this package.
        changes: suffixes of its name that changed it since (docs/data.md), such as `+fog-5@800`.
        sha256: of its content before the changes.
        sha256_of: what is hashed, in which order.
        licence, source: in the words of the publisher or the user.
        split: the rule that divides it into a training and a test part.
        split_seed: seed of that rule; None if it draws nothing, or has its seed in its words.
        shape: of an image: height, width and channels.
        range: how numbers became bytes; None for images that are bytes already.
        classes: in the order of the labels.
    """

    name: str
    kind: str
    file: str
    changes: str
    sha256: str
    sha256_of: str
    licence: str
    source: str
    split: str
    split_seed: int | None
    shape: tuple[int, int, int]
    range: ByteMapping | None
    classes: tuple[ClassSizes, ...]

    def of(self, arrays: Arrays) -> DataSetCard:
        """Return the card with shape and counts of these arrays; a class that it does not name has its label's."""
        height, width, *channels = arrays[0].shape[1:]
        named = {one.label: one.name for one in self.classes}
        return replace(
            self, shape=(height, width, channels[0] if channels else 1), classes=counted(named, arrays[1], arrays[3])
        )

    def changed(self, suffix: str, arrays: Arrays, renumbered: bool = False) -> DataSetCard:
        """Return the card of a set made from this one; if its labels were numbered anew, the names of classes go."""
        card = replace(self, classes=()) if renumbered else self
        return replace(card, changes=card.changes + suffix).of(arrays)


def counted(named: Mapping[int, str], train: np.ndarray, test: np.ndarray) -> tuple[ClassSizes, ...]:
    """Return the classes that labels [n] have, with the names of `named` or else their numbers."""
    classes = 1 + max(int(labels.max(initial=0)) for labels in (train, test))
    counts = [np.bincount(labels, minlength=classes).tolist() for labels in (train, test)]
    return tuple(
        ClassSizes(label, named.get(label, str(label)), in_train, in_test)
        for label, (in_train, in_test) in enumerate(zip(*counts, strict=True))
        if in_train or in_test
    )


def lines(card: DataSetCard) -> list[str]:
    """Return the card as lines of text."""
    size = "x".join(map(str, card.shape))
    found = [
        f"{card.name}{card.changes}",
        f"  kind     {card.kind}" + (f", {card.file}" if card.file else ""),
        f"  SHA-256  {card.sha256}",
        f"           of {card.sha256_of}",
        f"  licence  {card.licence}",
        f"  source   {card.source}",
        f"  split    {card.split}" + (f"; seed {card.split_seed}" if card.split_seed is not None else ""),
        f"  images   {size} bytes",
    ]
    if card.range is not None:
        first = list(zip(card.range.scale, card.range.zero, strict=True))[:6]  # channels, few enough for a line
        scales = ", ".join(f"{scale:.6g} x (p - {zero})" for scale, zero in first)
        found.append(f"  range    a byte p stands for {scales}: {card.range.rule}")
    found.append(f"  classes  {len(card.classes)}: label, name, training + test images")
    found += [f"    {one.label:3}  {one.name}  {one.train:,} + {one.test:,}" for one in card.classes]
    return found
