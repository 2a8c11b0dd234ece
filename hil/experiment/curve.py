"""What a run leaves on disk: its description, its learning curve, and the weights after every epoch."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hil.errors import RigError
from hil.experiment.exponents import ExponentRun
from hil.experiment.graphs import GraphRun
from hil.experiment.run import Run

RUN_FILE, CURVE_FILE = "run.json", "curve.json"


@dataclass(frozen=True)
class EpochRow:
    """One epoch of a learning curve; row 0 is the network before training.

    Attributes:
        epoch: epochs trained so far.
        step: steps trained so far.
        loss: mean float loss of the training samples as they were trained on, in nats; None for row 0.
        right_signs: share of the steps whose sign is that of the float losses; None where none was taken.
        train_accuracy: share of the first training images (train.py) that are classified rightly.
        test_accuracy: the same of all test images.
        train_s, eval_s: wall time of the steps and of the evaluation.
        cosines: of the last step's gradient with the slope of the network, by trained layer, where the run compares them.
        moved: share of the trained numbers that differ from those before training.
        digest: the step digest behind the last step (docs/arithmetic.md, section 11); None for row 0.
        arithmetic: what computed them, the same bits in any case: NumPy, or the host's C; None in rows from before it was said.
    """

    epoch: int
    step: int
    loss: float | None
    right_signs: float | None
    train_accuracy: float
    test_accuracy: float
    train_s: float
    eval_s: float
    cosines: Sequence[float] | None = None
    moved: float = 0.0
    digest: int | None = None
    arithmetic: str | None = None


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The weights behind an epoch.

    Attributes:
        weights: int8 arrays in the order of the trained tensors.
        step: index of the next step.
        digests: uint32 [steps, tensors], the digests after each step of the epoch.
    """

    weights: tuple[np.ndarray, ...]
    step: int
    digests: np.ndarray


def checkpoint_path(folder: Path, epoch: int) -> Path:
    """Return the file of the weights behind an epoch (0: before training)."""
    return folder / f"epoch-{epoch:03d}.npz"


def write_checkpoint(path: Path, weights: Sequence[np.ndarray], step: int, digests: np.ndarray) -> None:
    """Write a checkpoint whole or not at all: w0, w1, ..., `step` and `digests`."""
    arrays = {f"w{index}": array for index, array in enumerate(weights)}
    partial = path.with_suffix(".part")
    with partial.open("wb") as file:
        np.savez(file, step=np.int64(step), digests=digests, **arrays)  # type: ignore[arg-type]
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint.

    Raises:
        RigError: it is missing or damaged.
    """
    try:
        with np.load(path) as arrays:
            weights = tuple(arrays[f"w{index}"] for index in range(len(arrays.files) - 2))
            return Checkpoint(weights, int(arrays["step"]), arrays["digests"])
    except Exception as error:  # a damaged zip file may raise nearly anything
        raise RigError(
            f"the checkpoint {path} cannot be read ({error}): delete its run's folder and resume."
        ) from error


def read_curve(folder: Path) -> list[EpochRow]:
    """Return the rows so far, none where the run has not begun.

    Raises:
        RigError: the file is damaged.
    """
    path = folder / CURVE_FILE
    if not path.is_file():
        return []
    try:
        return [EpochRow(**row) for row in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError) as error:
        raise RigError(f"the curve {path} cannot be read ({error}): delete its run's folder and resume.") from error


def write_curve(folder: Path, rows: Sequence[EpochRow]) -> None:
    """Write the curve whole or not at all."""
    write_whole(folder / CURVE_FILE, json.dumps([asdict(row) for row in rows], indent=0) + "\n")


def read_run(folder: Path) -> tuple[Run, str]:
    """Return what a folder was begun as: the run and the SHA-256 of its data.

    Raises:
        RigError: the file is missing or damaged.
    """
    path = folder / RUN_FILE
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        fields = facts["run"]
        run: Run = GraphRun.of_json(fields) if "network" in fields else ExponentRun.of_json(fields)
        return run, facts["data_sha256"]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise RigError(f"the run {path} cannot be read ({error}): delete its folder and resume.") from error


def write_run(folder: Path, run: Run, data_sha256: str) -> None:
    """Write what a folder is begun as."""
    write_whole(folder / RUN_FILE, json.dumps({"run": fields_of(run), "data_sha256": data_sha256}, indent=1) + "\n")


def fields_of(run: Run) -> dict[str, Any]:
    """Return the fields of a run as JSON takes them."""
    return asdict(run)  # type: ignore[call-overload, no-any-return]  # every kind of run is a dataclass


def write_whole(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    partial = path.with_name(path.name + ".part")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
