"""The progress line of a running trial: stage, step, rate, loss and time left."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from hil.training.trial.lockstep_outcome import StepRow
from hil.training.trial.spec import TrialSpec

TRAIN = "train"


def loss_a_sample(row: StepRow, batch: int) -> float:
    """Return the loss of a step per sample, by the reference in floats."""
    return (row.reference_float_plus + row.reference_float_minus) / (2 * batch)


class ProgressLine:
    """A progress line that is removed at the end of the trial; nothing is drawn without a terminal.

    A thread redraws it, so the elapsed time advances during a long stage.
    """

    def __init__(self, spec: TrialSpec, console: Console) -> None:
        self._spec, self._console = spec, console
        self._live = console.is_terminal and not console.quiet
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TextColumn("{task.fields[loss]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            auto_refresh=True,
            refresh_per_second=4,
            transient=True,
            redirect_stdout=False,  # what the test prints is the test runner's
            redirect_stderr=False,
        )
        self._task: TaskID | None = None
        self._phase = ""

    def __enter__(self) -> ProgressLine:
        if self._live:
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._progress.stop()

    def tell(self, sentence: str) -> None:
        """Print a sentence for the user; it stays on the terminal."""
        self._progress.console.print(sentence, markup=False, highlight=False)

    def stage(self, name: str) -> None:
        """Show a stage that begins."""
        self._phase = name
        if not self._live:
            return
        if self._task is not None:
            self._progress.refresh()  # the last state of a stage shorter than the refresh period
            self._progress.remove_task(self._task)
        what = f"{self._spec.board} {self._spec.variant}: {name}"
        total = self._spec.steps if name == TRAIN else None
        self._task = self._progress.add_task(what, total=total, rate="", loss="")
        self._progress.refresh()

    @property
    def trains(self) -> bool:
        """Whether the stage is the training, whose steps are counted and not its parts."""
        return self._phase == TRAIN

    def step(self, row: StepRow) -> None:
        """Show a completed step."""
        if self._task is None:
            return
        loss = loss_a_sample(row, self._spec.batch)
        self._progress.update(self._task, advance=1)
        speed = self._progress.tasks[0].speed
        self._progress.update(self._task, loss=f"loss {loss:.3f}", rate=f"{speed:.1f} steps/s" if speed else "")

    def part(self, done: int, of: int) -> None:
        """Show the progress within a stage, except for an evaluation during training."""
        if self._task is None or self.trains:
            return
        self._progress.update(self._task, completed=done, total=of)
