"""Slices of a run: what a worker needs of its folder, the epochs that it trains, and the files that it gives back.

A slice has at least one epoch, and more until some seconds have gone by. Its request is files as bytes: the run
with everything chosen, its curve, its last checkpoint, and the run that it starts from. So a worker needs no folder in
common with whoever writes the record, and one that dies costs a slice. Where a run is cut does not change its bits
(train.py).
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from hil.atomic_write import write_durable
from hil.errors import RigError
from hil.steady_clock import steady_s
from hil.training.data import load
from hil.training.experiments.choice import CHOICE_FILE, begin
from hil.training.experiments.curve import CURVE_FILE, RUN_FILE, STATE, EpochRow, checkpoint_path, read_curve, read_run
from hil.training.experiments.train import TaskTraining, Training

Files = dict[str, bytes]  # by name in the folder of a run


@dataclass(frozen=True)
class SliceFiles:
    """What a slice leaves: files that are new or have changed, and the names of those that are no longer needed."""

    files: Files
    removed: tuple[str, ...]


def request(folder: Path) -> tuple[str, dict[str, Files]]:
    """Return the name of a run, and by run what a worker needs to go on with it; note what the run chooses.

    Raises:
        RigError: damaged files, or a run that this one depends on is not trained to its end.
    """
    run, rows = begin(folder), read_curve(folder)
    names = [CHOICE_FILE, CURVE_FILE]
    if rows:
        last = rows[-1].epoch
        names += [checkpoint_path(folder, last).name, STATE.format(last)]
    description = {"run": asdict(run), "data_sha256": read_run(folder)[1]}
    needed = {folder.name: {RUN_FILE: json.dumps(description).encode()} | _read(folder, names)}
    if run.start is not None:
        start = folder.parent / run.start
        its_last = checkpoint_path(start, read_run(start)[0].epochs).name
        needed[run.start] = _read(start, [RUN_FILE, CURVE_FILE, its_last])
    return folder.name, needed


def train_slice(name: str, needed: dict[str, Files], seconds: float) -> SliceFiles:
    """Train epochs of a run, in a folder of its own that is deleted.

    Args:
        name, needed: of `request`.
        seconds: after which no other epoch begins.

    Raises:
        RigError: this computer has no such data, or other data of that name.
    """
    with tempfile.TemporaryDirectory(prefix="trainrig-") as runs:
        for run_name, files in needed.items():
            (own := Path(runs, run_name)).mkdir()
            for file, content in files.items():
                (own / file).write_bytes(content)
        folder = Path(runs, name)
        _check_data(folder)
        training = TaskTraining(folder) if read_run(folder)[0].tasks else Training(folder)
        end = steady_s() + seconds
        for _ in training.epochs():
            if steady_s() > end:
                break
        left = {path.name: path.read_bytes() for path in folder.iterdir()}
    before = needed[name]
    changed = {file: content for file, content in left.items() if before.get(file) != content}
    return SliceFiles(changed, tuple(file for file in before if file not in left))


def keep(folder: Path, trained: SliceFiles) -> list[EpochRow]:
    """Write the files of a slice into the folder of its run, and return its rows.

    The curve comes after all that it stands for.
    """
    done = len(read_curve(folder))
    for is_curve in (False, True):
        write_durable(folder, {name: data for name, data in trained.files.items() if (name == CURVE_FILE) == is_curve})
    for name in trained.removed:
        (folder / name).unlink(missing_ok=True)
    return read_curve(folder)[done:]


def _read(folder: Path, names: list[str]) -> Files:
    return {name: (folder / name).read_bytes() for name in names if (folder / name).is_file()}


def _check_data(folder: Path) -> None:
    run, wanted = read_run(folder)
    found = load(run.data).sha256
    if found != wanted:
        raise RigError(
            f"the data set {run.data} of the worker is another one than that of the experiment "
            f"(SHA-256 {found[:12]}, not {wanted[:12]}): give the worker the same files."
        )
