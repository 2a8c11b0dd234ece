"""Train runs on workers, slice by slice; on a terminal each has a live line, and leaves one at its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from hil.cluster import Failure, Task, Workers
from hil.errors import RigError
from hil.training.data import load
from hil.training.experiments.choice import outdated
from hil.training.experiments.curve import RUN_FILE, EpochRow, complete, read_curve, read_run, write_run
from hil.training.experiments.finished import FinishedRuns
from hil.training.experiments.kinds import Run
from hil.training.experiments.rate_search import RateSearch
from hil.training.experiments.slices import keep, request, train_slice

LOG_FILE = "worker.log"
SLICE_S = 10.0  # what a worker that dies costs at most, unless an epoch is longer


class RunLines:
    """Shows the runs in training."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(bar_width=20), MofNCompleteColumn(),
            TextColumn("{task.fields[text]}"), TimeRemainingColumn(),
            console=console, transient=True, disable=not console.is_terminal,
        )  # fmt: skip
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> RunLines:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def begin(self, name: str, done: int, epochs: int) -> None:
        """Show a run that starts, or continues after epoch `done`, and leave a line about it."""
        after = f" after epoch {done}" if done else ""
        self._console.print(f"{name}: begins{after}, {epochs} epochs", highlight=False)
        self._tasks[name] = self._progress.add_task(name, total=epochs, completed=done, text="")

    def epoch(self, name: str, row: EpochRow) -> None:
        """Show an epoch that has ended."""
        self._progress.update(self._tasks[name], completed=row.epoch, text=f"test {row.test_accuracy:.2%}")

    def end(self, name: str, rows: list[EpochRow]) -> None:
        """Leave one line about a run that has ended."""
        self._progress.remove_task(self._tasks.pop(name))
        if rows:
            last, seconds = rows[-1], sum(row.train_s + row.eval_s for row in rows)
            how = f" in {last.arithmetic}" if last.arithmetic else ""
            text = f"{name}: {last.epoch} epochs{how}, test {last.test_accuracy:.2%}, {seconds:,.0f} s"
            self._console.print(text, highlight=False)

    def copied(self, name: str, rows: list[EpochRow]) -> None:
        """Leave one line about a run that was trained before."""
        last = rows[-1]
        text = (
            f"{name}: {last.epoch} epochs, test {last.test_accuracy:.2%}, trained before (--no-cache trains it again)"
        )
        self._console.print(text, highlight=False)


class Pool:
    """Trains the runs of folders on workers.

    Args:
        workers: of this computer or others.
        lines: show the progress.
        finished: runs that were trained before, which are copied; None trains all.
    """

    def __init__(self, workers: Workers, lines: RunLines, finished: FinishedRuns | None = None) -> None:
        self._workers, self._lines, self._finished = workers, lines, finished

    def train(self, folders: Iterable[Path]) -> None:
        """Train the runs of these folders; complete ones are skipped, unless their choice is outdated.

        Raises:
            RigError: a run failed; the others are trained.
        """
        left = [folder for folder in folders if not complete(folder) or outdated(folder)]
        reasons: list[str] = []
        whole: set[Path] = set()  # trained here from the first step on
        for task, trained in self._workers.run(self._begun(left, reasons, whole)):
            folder: Path = task.tag
            if isinstance(trained, Failure):
                reasons.append(_reason(folder, trained))
                self._lines.end(folder.name, read_curve(folder))
                continue
            for row in keep(folder, trained):
                self._lines.epoch(folder.name, row)
            if complete(folder):
                self._lines.end(folder.name, read_curve(folder))
                if self._finished is not None and folder in whole:
                    self._finished.add(folder)
            else:
                self._workers.go_on(_slice(folder))
        if reasons:
            raise RigError(f"{len(reasons)} of {len(left)} runs failed, the first: {reasons[0]}")

    def _begun(self, folders: Sequence[Path], reasons: list[str], whole: set[Path]) -> Iterator[Task]:
        """Yield the next slice of each run; add to the reasons why there is none, and to `whole` what begins."""
        for folder in folders:
            try:
                if self._finished is not None and self._finished.copy(folder):
                    self._lines.copied(folder.name, read_curve(folder))
                    continue
                task, done = _slice(folder), read_curve(folder)
            except RigError as error:
                reasons.append(f"{folder.name} ({error})")
                continue
            if not done:
                whole.add(folder)
            self._lines.begin(folder.name, done[-1].epoch if done else 0, read_run(folder)[0].epochs)
            yield task


def _slice(folder: Path) -> Task:
    return Task(folder.name, train_slice, (*request(folder), SLICE_S), folder)


def _reason(folder: Path, failure: Failure) -> str:
    """Return the reason of a failure; a traceback goes into a file of the run's folder."""
    if not failure.traceback:
        return f"{folder.name} ({failure.reason})"
    (folder / LOG_FILE).write_text(failure.traceback, encoding="utf-8")
    return f"{folder.name} ({failure.reason}; {folder / LOG_FILE} has more)"


def make_folders(wanted: Sequence[Run], runs: Path) -> None:
    """Create the folders of runs, or check that existing ones belong to this experiment.

    Raises:
        RigError: a folder belongs to another.
    """
    digests: dict[str, str] = {}
    for run in wanted:
        digests.setdefault(run.data, load(run.data).sha256)
        folder = runs / run.name
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / RUN_FILE).exists():
            write_run(folder, run, digests[run.data])
        elif read_run(folder) != (run, digests[run.data]):
            cure = "choose another --out, or the original settings"
            raise RigError(f"{folder} was started with other settings or data: {cure}.")


def grow_grids(searches: Iterable[RateSearch[Any]], runs: Path, pool: Pool) -> None:
    """Train further rates until the best one of every search is inside its grid.

    A search whose first runs belong to a later stage waits.
    """
    begun = [search for search in searches if all(complete(runs / run.name) for run in search.first_runs())]
    while more := [run for search in begun for run in search.more_runs(runs)]:
        make_folders(more, runs)
        pool.train(runs / run.name for run in more)
