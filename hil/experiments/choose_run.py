"""Choose what a run leaves open until other runs are trained (docs/experiments.md)."""

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
class Beside:
    """The runs of an experiment that others choose among.

    Attributes:
        runs: holds their folders.
    """

    runs: Path

    def best_run(self, names: Sequence[str]) -> tuple[int, Any]:
        """Return the run with the best accuracy after its last epoch, settled; the loss decides between equals.

        Raises:
            RigError: one of them is not trained to its end.
        """
        places = []
        for place, name in enumerate(names):
            run, rows = read_run(self.runs / name)[0], read_curve(self.runs / name)
            if not rows or rows[-1].epoch < run.epochs:
                raise RigError(f"the run {name} is not trained to its end, and others choose by it: add --resume.")
            places.append((-rows[-1].test_accuracy, rows[-1].loss, place, run))
        _, _, place, run = min(places, key=lambda one: one[:3])
        return place, settled(run, self.runs)

    def best_rate(self, stem: str) -> float:
        """Return the best learning rate of a search."""
        return best_rate(self.runs, stem)


def settled(run: Run, runs: Path) -> Any:
    """Return a run with nothing left open.

    Args:
        run: of any kind.
        runs: holds the folders of the runs that it chooses among.

    Raises:
        RigError: one of them is not trained to its end.
    """
    return run.settled(Beside(runs))
