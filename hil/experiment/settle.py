"""What a run leaves open until others have been trained: the choice among them (docs/experiments.md)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from hil.errors import RigError
from hil.experiment.curve import read_curve, read_run
from hil.experiment.run import Run


def settled(run: Run, runs: Path) -> Any:
    """Return a run with nothing left open.

    Args:
        run: of either family.
        runs: holds the folders of the runs that it chooses among.

    Raises:
        RigError: one of them is not trained to its end.
    """
    return run.settled(partial(best, runs))


def best(runs: Path, names: Sequence[str]) -> Any:
    """Return, settled, the run that is most often right behind its last epoch; of equals the one of least loss, then the first."""
    places = []
    for place, name in enumerate(names):
        run, rows = read_run(runs / name)[0], read_curve(runs / name)
        if not rows or rows[-1].epoch < run.epochs:
            raise RigError(f"the run {name} is not trained to its end, and others choose by it: add --resume.")
        places.append((-rows[-1].test_accuracy, rows[-1].loss, place, run))
    return settled(min(places, key=lambda one: one[:3])[3], runs)
