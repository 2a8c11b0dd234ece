"""What a run has chosen when its training begins; if the choice has changed since, the run is trained again.

A rate comes from a search, trained layers from other runs, first weights from a pre-training. `--resume` may train
those further, for example with one more seed. Then the finished run would belong to a choice that no longer holds.
A budget of forward passes chooses too: the number of steps, and the batch.
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
