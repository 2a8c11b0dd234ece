"""Choose what a run leaves open, such as its learning rate, from other trained runs (docs/experiments.md)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hil.errors import RigError
from hil.experiments.curve import Run, ended, read_curve, read_run
from hil.experiments.graphs import GraphRun
from hil.experiments.qzo_runs import QzoRun
from hil.experiments.rate_search import best_rate


def resolved(run: Run, runs: Path) -> Run:
    """Return a run with learning rate, trained layers, batch and steps chosen.

    Args:
        run: of any kind; an `ExponentRun` leaves nothing open.
        runs: holds the folders of the runs from which it chooses.

    Raises:
        RigError: one of those is not trained to its end.
    """
    if isinstance(run, QzoRun) and run.rate_from:
        return replace(run, eta=best_rate(runs, run.rate_from), rate_from="")
    if not isinstance(run, GraphRun):
        return run
    place = 0
    if run.blocks_from:
        place = _best_run(run, runs)
        block = resolved(read_run(runs / run.blocks_from[place])[0], runs)
        its = {name: value for name, value in block.given if name in ("train", "blocks")}
        run = replace(run, given=tuple((dict(run.given) | its).items()))
    if run.rate_from:
        run = replace(run, eta=best_rate(runs, run.rate_from[place if len(run.rate_from) > 1 else 0]))
    run, budget = replace(run, rate_from=(), blocks_from=()), run.budget
    if budget is None:
        return run
    if run.fewest_steps:
        batch = budget // run.forwards() // run.fewest_steps
        run = replace(run, batch=min(max(batch, 1), run.batch), fewest_steps=0)
    steps = budget / (run.batch * run.forwards())
    return replace(run, steps=max(round(steps / run.epochs), 1), budget=None)


def _best_run(run: GraphRun, runs: Path) -> int:
    """Return the place of the run in `blocks_from` with the best last accuracy; equals are decided by the loss."""
    places = []
    for place, name in enumerate(run.blocks_from):
        rows = read_curve(runs / name)
        if not ended(read_run(runs / name)[0], rows):
            raise RigError(f"the run {name} is not trained to its end, and others depend on it: add --resume.")
        places.append((-rows[-1].test_accuracy, rows[-1].loss, place))
    return min(places)[2]
