"""`hil network export`: the weights that a trial trained, in the model that it began with."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from hil.bounded_read import read_file
from hil.errors import RigError
from hil.record import TRAINED, atomic_file, read_trial
from hil.training.graph.file import decode
from hil.training.networks.files import LARGEST
from hil.training.tflite.export import Exported, with_weights_of
from hil.training.tflite.importing import network_of
from hil.training.tflite.read import read_model

AGAIN = "run the trial again with the network by path"


def export(trial: Path, out: Path, model: Path | None) -> str:
    """Write the model of a trial with the trained weights, and an .npz beside it; return a summary.

    Args:
        trial: its folder.
        out: the .tflite.
        model: the model that was imported; None: its file name in this folder.

    Raises:
        RigError: the trial trained no imported model, or the model is not there or another one.
        OSError: the files cannot be written.
    """
    if out.suffix.lower() != ".tflite":
        raise RigError(f"{out} is no name of a model: end it with .tflite.")
    record = read_trial(trial)
    known = record.network_file
    if known is None or known["model"] is None:
        raise RigError(f"the trial {trial} did not train a network that came from a .tflite: {AGAIN}.")
    if known["trained_sha256"] is None:
        raise RigError(f"the trial {trial} has no weights that board and reference agree on: {record.reason or AGAIN}")
    blob = read_file(trial / TRAINED, LARGEST, AGAIN)
    if hashlib.sha256(blob).hexdigest() != known["trained_sha256"]:
        raise RigError(f"{trial / TRAINED} is not the file that the trial wrote: {AGAIN}.")
    path = model or Path(known["model"]["file"])
    if not path.is_file():
        raise RigError(f"the model {path} that was imported is not there: give it by --model.")
    data, read = read_model(path)
    if hashlib.sha256(data).hexdigest() != known["model"]["sha256"]:
        raise RigError(
            f"{path} is not the model that was imported (its SHA-256 is not {known['model']['sha256'][:16]}...): "
            "give that by --model."
        )
    exported = with_weights_of(data, read, network_of(read, path.name), decode(blob, TRAINED))
    arrays = out.with_suffix(".npz")
    with atomic_file(out) as partial:
        partial.write_bytes(exported.data)
    with atomic_file(arrays) as partial, partial.open("wb") as file:
        np.savez(file, **exported.arrays)  # type: ignore[arg-type]
    return _summary(exported, out, arrays, len(data))


def _summary(exported: Exported, out: Path, arrays: Path, before: int) -> str:
    counts = ", ".join(f"{count:,} of {layer}" for layer, count in exported.changed.items())
    more = len(exported.data) - before
    lines = [f"{out}: {counts + ' are others than in the model' if counts else 'nothing was changed by training'}"]
    if more:
        lines.append(f"layers shared a buffer that training told apart: the file is {more:,} bytes longer")
    return "\n".join([*lines, f"{arrays}: the same weights and biases as arrays"])
