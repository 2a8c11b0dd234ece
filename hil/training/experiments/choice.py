"""Choose what a run leaves open from other trained runs; if a choice has changed since, the run is trained again.

A rate comes from a search, trained layers from other runs, first weights from a pre-training. `--resume` may train
those further, for example with one more seed. Then the finished run would belong to a choice that no longer holds.
A budget of forward passes chooses too: the number of steps, and the batch.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hil.atomic_write import write_atomic
from hil.bounded_read import read_json
from hil.errors import RigError
from hil.training.experiments.curve import AGAIN, LARGEST_JSON, discard, ended, held_out, read_curve, read_run
from hil.training.experiments.kinds import Run
from hil.training.experiments.rate_search import best_rate
from hil.training.experiments.run import AnyRun, Given

CHOICE_FILE = "choice.json"


@dataclass(frozen=True)
class RunFolders:
    """The trained runs below a folder, as `TrainedRuns` of run.py."""

    folder: Path

    def best_rate(self, stem: str) -> float:
        """Return the learning rate that a search chooses."""
        return best_rate(self.folder, stem)

    def best_run(self, names: Sequence[str]) -> int:
        """Return the place of the run with the most right images at its end; equals are decided by their loss."""
        places = []
        for place, name in enumerate(names):
            rows = read_curve(self.folder / name)
            if not ended(read_run(self.folder / name)[0], rows):
                raise RigError(f"the run {name} is not trained to its end, and others depend on it: add --resume.")
            right, _, loss = held_out(rows[-1], name)
            places.append((-right, loss, place))
        return min(places)[2]

    def settings_of(self, name: str) -> Given:
        """Return the `given` settings of a run, with what it chose."""
        return resolved(read_run(self.folder / name)[0], self.folder).given


def resolved(run: AnyRun, runs: Path) -> AnyRun:
    """Return a run with learning rate, trained layers, batch and steps chosen.

    Args:
        run: of any kind.
        runs: holds the folders of the runs from which it chooses.

    Raises:
        RigError: one of those is not trained to its end.
    """
    return run.resolved(RunFolders(runs))


def begin(folder: Path) -> Run:
    """Return the run of a folder with everything chosen, and note the choice; discard what another choice trained.

    Raises:
        RigError: a run that this one depends on is not trained to its end.
    """
    run, choice = _choice(folder)
    if choice is not None and _noted(folder) != choice:
        discard(folder)
        write_atomic(folder / CHOICE_FILE, json.dumps(choice, indent=1) + "\n")
    return run


def outdated(folder: Path) -> bool:
    """Return whether the run of a folder was trained with another choice than today's, or with an unknown one.

    Raises:
        RigError: a run that this one depends on is not trained to its end.
    """
    choice = _choice(folder)[1]
    return choice is not None and _noted(folder) != choice


def _choice(folder: Path) -> tuple[Run, dict[str, Any] | None]:
    """Return the run of a folder with everything chosen, and as JSON has it, with the digest of the first weights.

    The second is None if the run is trained as it is described, from initial weights.
    """
    described = read_run(folder)[0]
    run = resolved(described, folder.parent)
    if run == described and run.start is None:
        return run, None
    rows = [] if run.start is None else read_curve(folder.parent / run.start)
    facts = {"run": asdict(run), "start_digest": rows[-1].digest if rows else None}
    as_json: dict[str, Any] = json.loads(json.dumps(facts))
    return run, as_json


def _noted(folder: Path) -> Any:
    path = folder / CHOICE_FILE
    return read_json(path, LARGEST_JSON, AGAIN) if path.is_file() else None
