"""A session that is running, as the folder of its run shows it: its tests, and the progress of its trials."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hil.bounded_read import read_json
from hil.errors import RigError
from hil.record.checks import refuse_contradictions
from hil.record.progress import Progress, read_progress
from hil.record.run_reader import LARGEST, NAME, read_recorded, run_folder
from hil.record.run_writer import RUNNING
from hil.record.safe_paths import RERUN
from hil.record.trial_writer import BEGUN
from hil.record.trial_writer import LARGEST as LARGEST_TRIAL


@dataclass(frozen=True)
class RunningTrial:
    """A trial that is running, and its progress if it has told any.

    Attributes:
        what: network, method and variant.
    """

    board: str
    what: str
    variant: str
    reality: str
    progress: Progress | None


@dataclass(frozen=True)
class RunningSession:
    """A session as its folder shows it.

    Attributes:
        run: its id.
        state: `running`, `ended` or `interrupted`.
        begun: time of its begin.
        tests: number of all tests, and of those by verdict that have ended.
        trials: those that are running.
    """

    run: str
    state: str
    begun: str
    tests: int
    verdicts: dict[str, int]
    trials: list[RunningTrial]


def read_session(folder: Path) -> RunningSession:
    """Read the present state of a session.

    Args:
        folder: of the run, or `latest` as a text file beside it.

    Raises:
        Contradicted: it has ended, and its files say different things.
        RigError: it holds no run, or a file is damaged.
    """
    folder = run_folder(folder)
    if not (folder / NAME).is_file():
        raise RigError(f"{folder} holds no {NAME}: name the folder of a run, such as those in reports.")
    results = read_json(folder / NAME, LARGEST, RERUN)
    try:
        run, tests = results["run"], results["tests"]
        verdicts: dict[str, int] = {}
        for test in tests:
            if test["outcome"] is not None:
                verdicts[str(test["verdict"])] = verdicts.get(str(test["verdict"]), 0) + 1
        facts = str(run["id"]), str(run["state"]), str(run["time"])
    except (KeyError, TypeError) as error:
        raise RigError(f"{folder / NAME} is damaged ({type(error).__name__}: {error}): {RERUN}.") from error
    if facts[1] != RUNNING:
        refuse_contradictions(read_recorded(folder))
    return RunningSession(*facts, len(tests), verdicts, running_trials(folder) if facts[1] == RUNNING else [])


def running_trials(folder: Path) -> list[RunningTrial]:
    """Return the trials of a run that are running, in the order of their folders.

    Raises:
        RigError: a file is damaged.
    """
    found = []
    for path in sorted(folder.glob(f"*/{BEGUN}")):
        if path.is_symlink() or path.parent.is_symlink():
            continue
        try:
            begun: Any = read_json(path, LARGEST_TRIAL, RERUN)
        except RigError:
            if path.exists():
                raise
            continue  # the trial has just ended
        if not isinstance(begun, dict):
            raise RigError(f"{path} is damaged (it is not the record of a trial): {RERUN}.")
        what = " ".join(str(begun.get(name, "")) for name in ("network", "method", "variant"))
        board, reality = str(begun.get("board", "")), str(begun.get("reality") or "")
        found.append(RunningTrial(board, what, str(begun.get("variant", "")), reality, read_progress(path.parent)))
    return found
