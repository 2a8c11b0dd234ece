"""A table or figure of a paper as runs: the runs of every cell, the paper's claims, and the differences from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hil.training.experiments.kinds import Run
from hil.training.experiments.rate_search import RateSearch

NONE = "none"  # the row with the weights before training
Cell = tuple[str, str, str]  # data set as the paper's column calls it, column, row
Claims = tuple[tuple[str, str], ...]  # rows: the first is better than the second


@dataclass(frozen=True)
class Measure:
    """The quantity in the cells; title and unit are shown above the table."""

    name: str
    title: str
    unit: str
    sign: int = 1  # 1 if more is better, -1 if less is


ACCURACY = Measure("accuracy", "Test accuracy", "percent of the test images, behind the last epoch")
LOSS = Measure("loss", "Training loss", "nats, mean of the training samples of the last epoch", -1)
COSINE = Measure("cosine", "Cosine of estimate and slope", "1 is the direction of the slope")
MEASURES = {measure.name: measure for measure in (ACCURACY, LOSS, COSINE)}


@dataclass(frozen=True)
class MemoryRow:
    """Memory of a method on a network by its plan, with a batch in parts of one sample, in bytes (analytic)."""

    network: str
    method: str
    parts: Mapping[str, int]  # bytes by part; all rows of a table have the same parts


@dataclass(frozen=True)
class Within:
    """A claim that a row is not much worse than another: by at most so many points of the measure."""

    row: str
    other: str
    points: float


@dataclass(frozen=True)
class Axis:
    """The horizontal axis of the learning curves: its title, and its value at the last row (None: number of epochs)."""

    title: str = "epoch"
    last: float | None = None


@dataclass(frozen=True)
class PaperTable:
    """One table of a paper."""

    name: str
    title: str
    stages: tuple[tuple[Run, ...], ...]  # runs that may train in parallel; each stage needs the one before it
    cells: Mapping[Cell, tuple[Run, ...]]  # the cell is the mean of its runs
    rows: tuple[str, ...]  # in the paper's order
    paper: Mapping[Cell, float]  # published values, percent
    differences: tuple[str, ...]  # from the paper's setting, one sentence each
    measure: Measure = ACCURACY
    claims: Claims = ()  # about rows, in every column that has both
    within: tuple[Within, ...] = ()  # as `claims`
    order: str = ""  # the claims in words
    titles: Mapping[str, str] = field(default_factory=dict)  # of rows and columns whose title differs from their name
    axis: Axis = Axis()  # of the learning curves
    searches: tuple[RateSearch[Any], ...] = ()  # their first runs are in a stage before the runs that need them
    choices: frozenset[str] = frozenset()  # names of runs from which others choose; no board repeats them
    loss_charts: Mapping[str, str] = field(default_factory=dict)  # columns with charts of the losses, and their figure
    not_run: Mapping[str, str] = field(default_factory=dict)  # rows that were not run, with the reason
    memory: tuple[MemoryRow, ...] = ()  # of methods, by plan
    memory_parts: str = ""  # what the parts of the memory are, in words
    all_channels: Mapping[str, str] = field(default_factory=dict)  # by row with a sparse backward pass the dense row

    @property
    def runs(self) -> tuple[Run, ...]:
        """All runs, in order of their stages."""
        return tuple(run for stage in self.stages for run in stage)

    @property
    def certified(self) -> tuple[Run, ...]:
        """The runs of which a board repeats parts."""
        return tuple(run for run in self.runs if run.on_board and run.name not in self.choices)

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Data set and column, in the order of the table."""
        return tuple(dict.fromkeys((data, column) for data, column, _ in self.cells))

    def called(self, name: str) -> str:
        """Return the title of a row, column or data set."""
        return self.titles.get(name, name)
