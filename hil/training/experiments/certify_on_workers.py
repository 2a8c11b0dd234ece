"""Certificates on the workers of a cluster that have the board: each is a task that needs `board:NAME`.

The worker runs the trial on the bench of the rig.toml in its own folder. It gives back what a certificate needs, and
the logs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from hil.cluster import Failure, Task, Workers
from hil.history.keeper import Keeper
from hil.rig import Rig
from hil.rig_toml import read_bench
from hil.training.experiments.certify import Certificate, Repeated, Segment, certificate_of, trial_of
from hil.training.trial import TrialSpec, run_trial
from hil.training.trial.outcome import Outcome

Logs = dict[str, bytes]  # by path in the folder of the trial


def resource_of(board: str) -> str:
    """Return what a worker offers that has a board."""
    return f"board:{board}"


def on_bench(spec: TrialSpec, folder: Path) -> Outcome:
    """Run a trial on the bench of rig.toml, or on the board's stand-in if none is attached."""
    bench = read_bench(Path("rig.toml"))
    with Keeper.of(bench) as keeper, Rig(bench, kept_off=keeper) as rig:
        return run_trial(spec, rig, folder)


def repeat(spec: TrialSpec, checkpoint: bytes | None) -> tuple[Repeated, Logs]:
    """Run a trial on the bench of this worker.

    Args:
        spec: of the trial; its checkpoint is not on this computer.
        checkpoint: content of that file.
    """
    with tempfile.TemporaryDirectory(prefix="trainrig-") as place:
        if checkpoint is not None:
            (weights := Path(place, "checkpoint.npz")).write_bytes(checkpoint)
            spec = replace(spec, checkpoint=weights)
        (folder := Path(place, "trial")).mkdir()
        repeated = Repeated.of(on_bench(spec, folder))
        files = [path for path in folder.rglob("*") if path.is_file()]
        return repeated, {str(path.relative_to(folder)): path.read_bytes() for path in files}


def certificates(
    segments: Sequence[Segment], board: str, runs: Path, logs: Path, workers: Workers
) -> Iterator[tuple[Segment, Certificate]]:
    """Yield the certificate of each segment as it comes, from all workers that have the board; write its logs.

    A worker that dies with a trial, or has no such data, blocks the certificate.

    Raises:
        RigError: a checkpoint is missing, or no worker offers the board.
    """
    for task, result in workers.run((_task(segment, board, runs) for segment in segments), resource_of(board)):
        segment, spec = task.tag
        if isinstance(result, Failure):
            result = Repeated(None, "blocked", result.reason, 0, ()), {"traceback.txt": result.traceback.encode()}
        repeated, files = result
        for name, content in files.items():
            path = logs / segment.name / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        yield segment, certificate_of(segment, spec, runs, repeated)


def _task(segment: Segment, board: str, runs: Path) -> Task:
    spec = trial_of(segment, board, runs)
    checkpoint = None if spec.checkpoint is None else Path(spec.checkpoint).read_bytes()
    return Task(segment.name, repeat, (replace(spec, checkpoint=None), checkpoint), (segment, spec))
