"""Files of a run: its description, its learning curve, and the weights after every epoch."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hil.atomic_write import atomic_file, write_atomic
from hil.bounded_npz import read_npz
from hil.bounded_read import read_json
from hil.dataclass_json import rebuilt
from hil.errors import RigError
from hil.record.weights import write_weights
from hil.training.experiments.kinds import Run, kind_of

if TYPE_CHECKING:  # imported late: it takes a quarter of a second, and workers that train do not need it
    import pyarrow as pa

RUN_FILE, CURVE_FILE = "run.json", "curve.json"
STATE, EVERY_STATE = "state-{:03d}.npz", "state-*.npz"
CHECKPOINT, EVERY_CHECKPOINT = "epoch-{:03d}.npz", "epoch-*.npz"
LARGEST_JSON = 16 << 20  # bytes: a curve of 10,000 epochs has 5 MB
AGAIN = "delete its run's folder and resume"

CURVES_FILE = "curves.parquet"
RUN_COLUMN = "run"  # the column with the name of the run; the others are the fields of EpochRow
SPREAD = ("loss", "test_loss", "train_s", "eval_s")  # floats with new bits in nearly every row
UNLIKE = (*SPREAD, "digest")  # columns for which a dictionary of their values is larger than the values


@dataclass(frozen=True)
class EpochRow:
    """One epoch of a learning curve; row 0 is the network before training."""

    epoch: int
    step: int  # number of steps trained so far
    loss: float | None  # mean float loss of the training samples during the epoch, in nats; None for row 0
    right_signs: float | None  # share of the steps with the sign of the float losses; None if the method uses no sign
    train_accuracy: float  # share of the first training images (train.py) that are classified correctly
    test_accuracy: float  # the same for all test images
    train_s: float  # wall time of the steps,
    eval_s: float  # and of the evaluation
    cosines: Sequence[float] | None = None  # of the last step's gradient with the slope, by layer; None: not compared
    moved: float = 0.0  # share of the trained numbers that differ from their initial values
    digest: int | None = None  # after the last step (docs/arithmetic.md, section 11); None for row 0
    arithmetic: str | None = None  # NumPy or the host's C, which give identical bits; None in old rows
    test_loss: float | None = None  # mean over all test images, in nats; None in old rows
    failed: str = ""  # why a step of this epoch failed: it changed nothing, and the run ends here
    backward_macs: float | None = None  # multiply-accumulates of a sample's backward pass, mean; None: not counted
    right: int | None = None  # test images that are classified correctly; of few-shot tasks, their sum,
    of: int | None = None  # of so many; both None in old rows


@dataclass(frozen=True, eq=False)
class EpochWeights:
    """The weights after an epoch."""

    weights: tuple[np.ndarray, ...]  # in the order of the trained tensors
    step: int  # index of the next step
    digests: np.ndarray  # uint32 [steps, tensors], after each step of the epoch


def checkpoint_path(folder: Path, epoch: int) -> Path:
    """Return the file of the weights after an epoch (0: before training)."""
    return folder / CHECKPOINT.format(epoch)


def write_checkpoint(path: Path, weights: Sequence[np.ndarray], step: int, digests: np.ndarray) -> None:
    """Write a checkpoint atomically: w0, w1, ..., `step` and `digests`."""
    write_weights(path, weights, {"step": np.asarray(step, np.int64), "digests": digests})


def read_checkpoint(path: Path, like: Sequence[np.ndarray] | None = None) -> EpochWeights:
    """Read a checkpoint; `like` has arrays with the expected types and shapes of the weights.

    Raises:
        RigError: it is missing, damaged, or belongs to another network.
    """
    try:
        arrays = read_npz(path, AGAIN)
    except RigError as error:
        raise RigError(f"the checkpoint {error}") from error
    step, digests = arrays.pop("step", None), arrays.pop("digests", None)
    weights = [arrays.get(f"w{index}") for index in range(len(arrays))]
    found = [array for array in weights if array is not None]
    if (
        step is None
        or step.shape != ()
        or step.dtype.kind not in "iu"
        or step < 0
        or digests is None
        or len(found) != len(weights)
    ):
        raise RigError(f"the checkpoint {path} does not have the arrays w0, w1, ..., step and digests: {AGAIN}.")
    if digests.dtype != np.uint32 or digests.ndim != 2 or digests.shape[1] != len(found):
        held = f"{digests.dtype}{list(digests.shape)} of {len(found)} tensors"
        raise RigError(f"the checkpoint {path} holds digests {held}: {AGAIN}.")
    if like is not None and [(one.dtype, one.shape) for one in found] != [(one.dtype, one.shape) for one in like]:
        raise RigError(f"the checkpoint {path} is of another network: {AGAIN}.")
    return EpochWeights(tuple(found), int(step), digests)


def write_state(folder: Path, epoch: int, state: Mapping[str, np.ndarray]) -> None:
    """Write what decides later steps beside the weights of the checkpoint of an epoch."""
    write_weights(folder / STATE.format(epoch), (), state)


def read_state(folder: Path, epoch: int) -> dict[str, np.ndarray]:
    """Read what `write_state` wrote.

    Raises:
        RigError: it is missing or damaged.
    """
    return read_npz(folder / STATE.format(epoch), AGAIN)


def read_curve(folder: Path) -> list[EpochRow]:
    """Return the rows so far; empty if the run has not started.

    Raises:
        RigError: the file is damaged.
    """
    path = folder / CURVE_FILE
    if not path.is_file():
        return []
    rows = read_json(path, LARGEST_JSON, AGAIN, infinite=True)  # a diverged run has infinite losses
    if not isinstance(rows, list):
        raise RigError(f"{path} is damaged (it is not a list of rows): {AGAIN}.")
    found = [rebuilt(EpochRow, row, f"{path}, row {number}", AGAIN) for number, row in enumerate(rows)]
    if any(row.epoch != number or row.step < 0 for number, row in enumerate(found)):
        raise RigError(f"{path} is damaged (its epochs are not 0, 1, 2, ...): {AGAIN}.")
    return found


def held_out(row: EpochRow, name: str) -> tuple[int, int, float]:
    """Return of a row how many test images are right, of how many, and their mean loss in nats.

    Raises:
        RigError: an older trainrig wrote the row, without counts.
    """
    if row.right is None or row.of is None or row.test_loss is None:
        raise RigError(f"the curve of {name} does not count the right images of its epoch {row.epoch}: {AGAIN}.")
    return row.right, row.of, row.test_loss


def write_curve(folder: Path, rows: Sequence[EpochRow]) -> None:
    """Write the curve atomically."""
    write_atomic(folder / CURVE_FILE, json.dumps([asdict(row) for row in rows], indent=0) + "\n")


def read_run(folder: Path) -> tuple[Run, str]:
    """Return the run of a folder and the SHA-256 of its data.

    Raises:
        RigError: the file is missing or damaged.
    """
    path = folder / RUN_FILE
    facts = read_json(path, LARGEST_JSON, AGAIN)
    if (
        not isinstance(facts, dict)
        or not isinstance(facts.get("run"), dict)
        or not isinstance(facts.get("data_sha256"), str)
    ):
        raise RigError(f"{path} is damaged (it lacks run and data_sha256): {AGAIN}.")
    return rebuilt(kind_of(facts["run"]), facts["run"], f"{path}, run", AGAIN), facts["data_sha256"]


def write_run(folder: Path, run: Run, data_sha256: str) -> None:
    """Write the run of a folder and the SHA-256 of its data."""
    write_atomic(folder / RUN_FILE, json.dumps({"run": asdict(run), "data_sha256": data_sha256}, indent=1) + "\n")


def discard(folder: Path) -> None:
    """Delete what was trained of the run of a folder: its curve first, without which nothing counts as trained."""
    for trained in (folder / CURVE_FILE, *folder.glob(EVERY_CHECKPOINT), *folder.glob(EVERY_STATE)):
        trained.unlink(missing_ok=True)


def complete(folder: Path) -> bool:
    """Return whether the run of a folder is completely trained."""
    rows = read_curve(folder)
    return bool(rows) and ended(read_run(folder)[0], rows)


def ended(run: Run, rows: Sequence[EpochRow]) -> bool:
    """Return whether the rows of a run cover all its epochs, or one of its steps failed."""
    return bool(rows) and (rows[-1].epoch >= run.epochs or bool(rows[-1].failed))


def write_curves(path: Path, curves: Mapping[str, Sequence[EpochRow]]) -> None:
    """Write the learning curves of an experiment: one row for each epoch of each run, in the order of the runs.

    Every number keeps its bits. A value that is None is missing; NaN is not. With one version of pyarrow, the same
    curves give the same bytes: the file has no time, and its encoding and compression do not depend on the values.

    Raises:
        OSError: the disk is full; a file that was at `path` before is unchanged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [{RUN_COLUMN: name} | asdict(row) for name, its in curves.items() for row in its]
    table = pa.Table.from_pylist(rows, schema=_schema())
    like = [name for name in table.column_names if name not in UNLIKE]
    with atomic_file(path) as partial:
        pq.write_table(table, partial, compression="zstd", use_dictionary=like, use_byte_stream_split=list(SPREAD))


def _schema() -> pa.Schema:
    """Return the columns with their types: those of the fields of EpochRow, which say also what may be missing."""
    import pyarrow as pa

    types = {"int": pa.int64(), "float": pa.float64(), "str": pa.string(), "Sequence[float]": pa.list_(pa.float64())}
    columns = [pa.field(RUN_COLUMN, pa.string(), nullable=False)]
    for field in fields(EpochRow):
        kind = str(field.type)  # as it is written in the class
        columns.append(pa.field(field.name, types[kind.removesuffix(" | None")], nullable=kind.endswith(" | None")))
    return pa.schema(columns)
