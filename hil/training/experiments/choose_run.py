"""Choose what a run leaves open, such as its learning rate, from other trained runs (docs/experiments.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hil.errors import RigError
from hil.training.experiments.curve import ended, read_curve, read_run
from hil.training.experiments.rate_search import best_rate
from hil.training.experiments.run import AnyRun, Given


@dataclass(frozen=True)
class RunFolders:
    """The trained runs below a folder, as `TrainedRuns` of run.py."""

    folder: Path

    def best_rate(self, stem: str) -> float:
        """Return the learning rate that a search chooses."""
        return best_rate(self.folder, stem)

    def best_run(self, names: Sequence[str]) -> int:
        """Return the place of the run with the best last accuracy; equals are decided by the loss."""
        places = []
        for place, name in enumerate(names):
            rows = read_curve(self.folder / name)
            if not ended(read_run(self.folder / name)[0], rows):
                raise RigError(f"the run {name} is not trained to its end, and others depend on it: add --resume.")
            places.append((-rows[-1].test_accuracy, rows[-1].loss, place))
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
