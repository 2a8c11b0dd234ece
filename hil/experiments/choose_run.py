"""Choose what a run leaves open, such as its learning rate, from other trained runs (docs/experiments.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hil.errors import RigError
from hil.experiments.curve import read_curve, read_run
from hil.experiments.rate_search import best_rate
from hil.experiments.run import Run


@dataclass(frozen=True)
class TrainedRuns:
    """The trained runs of an experiment from which other runs choose.

    Attributes:
        runs: holds the folders of the runs.
    """

    runs: Path

    def best_run(self, names: Sequence[str]) -> tuple[int, Any]:
        """Return place and resolved run of the best accuracy after the last epoch; equals are decided by the loss.

        Raises:
            RigError: a run is not trained to its end.
        """
        places = []
        for place, name in enumerate(names):
            run, rows = read_run(self.runs / name)[0], read_curve(self.runs / name)
            if not rows or rows[-1].epoch < run.epochs:
                raise RigError(f"the run {name} is not trained to its end, and others depend on it: add --resume.")
            places.append((-rows[-1].test_accuracy, rows[-1].loss, place, run))
        _, _, place, run = min(places, key=lambda one: one[:3])
        return place, resolved(run, self.runs)

    def best_rate(self, stem: str) -> float:
        """Return the best learning rate of a search."""
        return best_rate(self.runs, stem)


def resolved(run: Run, runs: Path) -> Any:
    """Return a run with all open choices made.

    Args:
        run: of any kind.
        runs: holds the folders of the runs from which it chooses.

    Raises:
        RigError: one of those is not trained to its end.
    """
    return run.resolved(TrainedRuns(runs))
