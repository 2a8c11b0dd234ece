"""The live line while a trial runs: step, rate, loss, time left."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from hil.trial.outcome import StepRow
from hil.trial.spec import TrialSpec


class ProgressLine:
    """A line on the terminal that is gone when the trial is over; draws nothing where there is no terminal.

    Args:
        spec: the trial.
        console: where to draw.
        uncaptured: entered around every drawing, so that a test runner that captures output lets it through.
    """

    def __init__(
        self, spec: TrialSpec, console: Console, uncaptured: Callable[[], AbstractContextManager[object]] = nullcontext
    ) -> None:
        self._batch, self._uncaptured = spec.batch, uncaptured
        self._live = console.is_terminal and spec.steps > 0
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TextColumn("{task.fields[loss]}"),
            TimeRemainingColumn(),
            console=console,
            auto_refresh=False,
            transient=True,
        )
        self._task = self._progress.add_task(f"{spec.board} {spec.variant}", total=spec.steps, rate="", loss="starting")

    def __enter__(self) -> ProgressLine:
        if self._live:
            with self._uncaptured():
                self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            with self._uncaptured():
                self._progress.stop()

    def tell(self, sentence: str) -> None:
        """Show a sentence to the person at the bench, and leave it there."""
        with self._uncaptured():
            self._progress.console.print(sentence, markup=False, highlight=False)

    def __call__(self, row: StepRow) -> None:
        """Show a step that is done."""
        if not self._live:
            return
        loss = (row.reference_float_plus + row.reference_float_minus) / (2 * self._batch)
        self._progress.update(self._task, advance=1, loss=f"loss {loss:.3f}")
        speed = self._progress.tasks[self._task].speed
        with self._uncaptured():
            self._progress.update(self._task, rate=f"{speed:.1f} steps/s" if speed else "")
            self._progress.refresh()
