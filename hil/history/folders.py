"""Index the folders of runs: one run, or all of a folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hil.errors import RigError
from hil.history.device_rows import device_rows
from hil.history.rows import TrialRows, asked_row, run_row, trial_rows
from hil.history.store import Store
from hil.record import Entries, read_entries

RESULTS = "results.json"


@dataclass
class Count:
    """What indexing did.

    Attributes:
        runs: runs that were read.
        trials: trials in them.
        written: trials that were new, or had another record before.
        problems: a sentence for each run or trial that could not be indexed.
    """

    runs: int = 0
    trials: int = 0
    written: int = 0
    problems: list[str] = field(default_factory=list)


def index_run(store: Store, folder: Path, count: Count, sent: bool = False) -> None:
    """Write a run of this bench into the history, its trials in one transaction each.

    Args:
        store: an open history.
        folder: of the run.
        count: to be added to.
        sent: the run does not go on, so that none of its tests will still end.

    Raises:
        HistoryError: the history cannot be written.
        RigError: the folder holds no run, or it is damaged.
    """
    entries = read_entries(folder)
    with store.transaction() as writer:
        run = writer.run(run_row(entries.facts, str(entries.folder.absolute())))
    for rows in _trials(entries, count):
        with store.transaction() as writer:
            count.written += writer.trial(run, rows)
    with store.transaction() as writer:
        writer.tests(run, [asked_row(test) for test in entries.tests])
        if sent:
            writer.unplan(run)
    count.runs += 1


def import_run(store: Store, folder: Path, bench: str, count: Count) -> None:
    """Write a run of another bench into the history, in one transaction. It changes no run that is there already.

    Raises:
        HistoryError: the history cannot be written.
        RigError: the folder holds no run, or it is damaged.
    """
    entries = read_entries(folder)
    row = run_row(entries.facts, str(entries.folder.absolute()), imported=True, bench=bench)
    trials = list(_trials(entries, count))  # before the transaction, for which other writers wait
    with store.transaction() as writer:
        found = writer.find_run(row["uid"])
        if found is not None and not found[1]:
            count.problems.append(f"{folder.name} is a run of this history already: nothing of it was imported.")
            return
        run = writer.run(row)
        for rows in trials:
            count.written += writer.trial(run, rows)
        writer.tests(run, [asked_row(test) for test in entries.tests])
    count.runs += 1


def run_folders(root: Path) -> Sequence[Path]:
    """Return the folders of runs in a folder, in the order of their names; `root` itself if it is one.

    Links are left out: they may lead anywhere, and `latest` is one.
    """
    if (root / RESULTS).is_file() and not (root / RESULTS).is_symlink():
        return [root]
    found = [path for path in root.iterdir() if not path.is_symlink() and (path / RESULTS).is_file()]
    return sorted(found, key=lambda path: path.name)


def _trials(entries: Entries, count: Count) -> Iterator[TrialRows]:
    """Yield the rows of each trial and device test, and note those whose figures cannot be computed."""
    for device in entries.device_tests:
        rows = device_rows(device)
        if rows is not None:
            count.trials += 1
            yield rows
    for record in entries.trials:
        count.trials += 1
        try:
            yield trial_rows(record)
        except RigError as error:
            count.problems.append(f"{entries.folder.name}: {error}")
