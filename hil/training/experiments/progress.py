"""Progress of the runs: one live line each on a terminal, and one line at the end of each."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from hil.training.experiments.curve import EpochRow


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
        """Show a run that starts, or continues after epoch `done`."""
        self._tasks[name] = self._progress.add_task(name, total=epochs, completed=done, text="")

    def epoch(self, name: str, row: EpochRow) -> None:
        """Show an epoch that has ended."""
        self._progress.update(self._tasks[name], completed=row.epoch, text=f"test {row.test_accuracy:.2%}")

    def end(self, name: str, rows: list[EpochRow]) -> None:
        """Leave one line about a run that has ended."""
        self._progress.remove_task(self._tasks.pop(name))
        if rows:
            last, seconds = rows[-1], sum(row.train_s + row.eval_s for row in rows)
            text = f"{name}: {last.epoch} epochs, test {last.test_accuracy:.2%}, {seconds:,.0f} s"
            self._console.print(text, highlight=False)

    def copied(self, name: str, rows: list[EpochRow]) -> None:
        """Leave one line about a run that was trained before."""
        last = rows[-1]
        text = (
            f"{name}: {last.epoch} epochs, test {last.test_accuracy:.2%}, trained before (--no-cache trains it again)"
        )
        self._console.print(text, highlight=False)
