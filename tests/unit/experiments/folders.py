"""Training the run of a folder by slices, comparing two folders of one run, and reading the curves of a record."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from hil.training.experiments.curve import (
    CURVES_FILE,
    RUN_COLUMN,
    EpochRow,
    checkpoint_path,
    complete,
    read_checkpoint,
    read_curve,
)
from hil.training.experiments.slices import keep, request, train_slice


def by_slices(folder: Path, seconds: float = 0.0) -> list[int]:
    """Train a run to its end as workers do, in this process; return how many epochs each slice had."""
    sizes = []
    while not complete(folder):
        sizes.append(len(keep(folder, train_slice(*request(folder), seconds))))
    return sizes


def untimed(folder: Path) -> list[EpochRow]:
    """Return the curve without its times."""
    return [replace(row, train_s=0.0, eval_s=0.0) for row in read_curve(folder)]


def counted(rows: list[EpochRow], of: int = 1000) -> list[EpochRow]:
    """Return rows as a run on so many test images has them: with the counts of their accuracies, and losses."""
    return [
        replace(row, right=round(row.test_accuracy * of), of=of, test_loss=2.3 if row.loss is None else row.loss)
        for row in rows
    ]


def recorded_curves(record: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each run in the record of an experiment, as pyarrow reads them."""
    curves: dict[str, list[dict[str, Any]]] = {}
    for row in pq.read_table(record / CURVES_FILE).to_pylist():
        curves.setdefault(row.pop(RUN_COLUMN), []).append(row)
    return curves


def same(one: Path, other: Path) -> None:
    """Check that curves, digests and weights are the same."""
    assert untimed(one) == untimed(other)
    for epoch in range(len(read_curve(one))):
        ours, theirs = (read_checkpoint(checkpoint_path(folder, epoch)) for folder in (one, other))
        assert ours.step == theirs.step
        np.testing.assert_array_equal(ours.digests, theirs.digests)
        for a, b in zip(ours.weights, theirs.weights, strict=True):
            np.testing.assert_array_equal(a, b)
