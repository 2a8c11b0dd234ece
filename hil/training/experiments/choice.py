"""What a run has chosen when its training begins; if the choice has changed since, the run is trained again.

A rate comes from a search, trained layers from other runs, first weights from a pre-training. `--resume` may train
those further, for example with one more seed. Then the finished run would belong to a choice that no longer holds.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hil.atomic_write import write_atomic
from hil.bounded_read import read_json
from hil.training.experiments.choose_run import resolved
from hil.training.experiments.curve import AGAIN, LARGEST_JSON, discard, read_curve, read_run
from hil.training.experiments.kinds import Run

CHOICE_FILE = "choice.json"


def begin(folder: Path) -> Run:
    """Return the run of a folder with everything chosen, and note the choice; discard what another choice trained.

    Raises:
        RigError: a run that this one depends on is not trained to its end.
    """
    run = read_run(folder)[0]
    if not _chooses(run):
        return run
    now = resolved(run, folder.parent)
    facts = _facts(now, folder.parent)
    if _noted(folder) != facts:
        discard(folder)
        write_atomic(folder / CHOICE_FILE, json.dumps(facts, indent=1) + "\n")
    return now


def outdated(folder: Path) -> bool:
    """Return whether the run of a folder was trained with another choice than today's, or with an unknown one.

    Raises:
        RigError: a run that this one depends on is not trained to its end.
    """
    run = read_run(folder)[0]
    return _chooses(run) and _noted(folder) != _facts(resolved(run, folder.parent), folder.parent)


def _chooses(run: Run) -> bool:
    return run.start is not None or bool(run.searches()) or bool(getattr(run, "blocks_from", ()))


def _noted(folder: Path) -> Any:
    path = folder / CHOICE_FILE
    return read_json(path, LARGEST_JSON, AGAIN) if path.is_file() else None


def _facts(run: Run, runs: Path) -> dict[str, Any]:
    """Return the chosen run, and the digest of the weights that it starts from, as JSON has them."""
    rows = [] if run.start is None else read_curve(runs / run.start)
    facts = {"run": asdict(run), "start_digest": rows[-1].digest if rows else None}
    as_json: dict[str, Any] = json.loads(json.dumps(facts))
    return as_json
