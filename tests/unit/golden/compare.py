"""What was found against what a golden file has: the first part of a row that differs, named down to step and tensor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .rows import Row
from .subjects import subject
from .train import Trainer, train


def wrong(trainer: Trainer, row: Row) -> list[str]:
    """Let somebody train a row, with the settings and samples of its golden file; return what differs, nothing where all is equal."""
    said = row.recorded
    found = train(trainer, subject(row, said["settings"]), said["samples"], len(said["trace"]))
    return differences(row, found, trainer.name)


def differences(row: Row, found: Mapping[str, Any], who: str) -> list[str]:
    """Return what differs in the first part of a row that does; what comes after it follows from it.

    Args:
        row: with what its golden file has.
        found: of `train`.
        who: whose it is.
    """
    said = row.recorded
    for lines in (
        list(_tensors(row, "start", said["start"], found["start"], who)),
        *(
            list(_step(row, step, *pair, who))
            for step, pair in enumerate(zip(said["steps"], found["steps"], strict=True))
        ),
        list(_evaluation(row, found["evaluation"], who)),
        list(_listed(row, "trace", list(said["trace"]), list(said["trace"].values()), found["trace"], who)),
        list(_plan(row, found, who)),
    ):
        if lines:
            return lines
    return []


def same_loss(golden: int | str, found: float) -> bool:
    """Return whether a loss is the golden one, down to its last bit; whole numbers may come as binary32, as messages carry them."""
    if isinstance(golden, int):
        return found in (golden, float(np.float32(golden)))
    return float(found).hex() == golden


def _step(row: Row, step: int, said: Mapping[str, Any], found: Mapping[str, Any], who: str) -> Iterator[str]:
    where = f"{row.name}, step {step}"
    for name in ("loss_plus", "loss_minus"):
        if not same_loss(said[name], found[name]):
            yield f"{where}, {name}: {who} has {float(found[name]).hex()}, the golden file {said[name]}"
    if said["sign"] != found["sign"]:
        yield f"{where}, sign: {who} has {found['sign']}, the golden file {said['sign']}"
    yield from _tensors(row, f"step {step}", said["digests"], found["digests"], who)


def _tensors(row: Row, where: str, said: Sequence[str], found: Sequence[str], who: str) -> Iterator[str]:
    names = [f"tensor {index} ({name})" for index, name in enumerate(row.recorded["tensors"])]
    yield from _listed(row, where, names, said, found, who)


def _evaluation(row: Row, found: Mapping[str, Any], who: str) -> Iterator[str]:
    said = row.recorded["evaluation"]
    names = [f"test image {image}" for image in said["images"]]
    for what in ("predictions", "logits"):
        yield from _listed(row, f"evaluation, {what}", names, said[what], found[what], who)


def _listed(
    row: Row, where: str, names: Sequence[str], said: Sequence[Any], found: Sequence[Any], who: str
) -> Iterator[str]:
    if len(said) != len(found):
        yield f"{row.name}, {where}: {who} has {len(found)} values, the golden file {len(said)}"
        return
    for name, golden, value in zip(names, said, found, strict=True):
        if golden != value:
            yield f"{row.name}, {where}, {name}: {who} has {value}, the golden file {golden}"


def _plan(row: Row, found: Mapping[str, Any], who: str) -> Iterator[str]:
    most = row.recorded["plan"]["resident"]
    if found.get("planned", 0) > most:
        yield f"{row.name}, plan: {who} plans {found['planned']} bytes of arena, the golden file allows {most}"
