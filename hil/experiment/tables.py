"""The two tables of ElasticZO as runs: what has to be trained for every cell, and what differs from the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from hil.experiment.choices import r_max
from hil.experiment.exponents import ExponentRun
from hil.experiment.paper import ROWS, TABLE1, TABLE2, TITLES, UNTUNED
from hil.experiment.table import Cell, Table, descending

PAPER_EPOCHS, PAPER_TUNING, PAPER_BATCH = 100, 50, 256  # ElasticZO, sections 5.1.1 and 5.2
ANGLES = (30, 45)


@dataclass(frozen=True)
class Asked:
    """What the user asked for.

    Attributes:
        data: `mnist`, `fashion-mnist` or both.
        columns: `int8`, `int8star` or both.
        seeds: how many, from 1.
        epochs: of training from initial weights; fine-tuning takes half as many, as in the paper.
        batch: samples a step.
    """

    data: tuple[str, ...]
    columns: tuple[str, ...]
    seeds: int
    epochs: int
    batch: int


def table1(asked: Asked) -> Table:
    """Table 1: LeNet-5 trained from initial weights."""
    runs: dict[ExponentRun, None] = {}
    cells: dict[Cell, tuple[ExponentRun, ...]] = {}
    for data in asked.data:
        for column in asked.columns:
            for row in ROWS:
                cells[data, column, row] = tuple(
                    _run(asked, f"{data}-50k", column, row, seed, asked.epochs) for seed in range(1, asked.seeds + 1)
                )
                runs |= dict.fromkeys(cells[data, column, row])
    title = "LeNet-5 from initial weights (ElasticZO, table 1)"
    differences = (*fewer_epochs(asked.epochs, PAPER_EPOCHS, "training"), *other_batch(asked), *COMMON)
    return Table("elasticzo-table1", title, (slowest_first(runs),), cells, ROWS, TABLE1, differences, **CLAIMED)


def table2(asked: Asked) -> Table:
    """Table 2: LeNet-5 trained by back-propagation, then fine-tuned on rotated images."""
    before: dict[ExponentRun, None] = {}
    after: dict[ExponentRun, None] = {}
    cells: dict[Cell, tuple[ExponentRun, ...]] = {}
    seeds = range(1, asked.seeds + 1)
    for column, data, angle in product(asked.columns, asked.data, ANGLES):
        turned = f"rotated-{data}-{angle}"
        first = [_run(asked, f"{data}-50k", "int8", "full-bp", seed, asked.epochs) for seed in seeds]
        rows = {
            row: tuple(_run(asked, turned, column, row, run.seed, max(asked.epochs // 2, 1), run.name) for run in first)
            for row in ROWS
        }
        rows = {UNTUNED: rows["full-bp"], **rows}
        cells |= {(turned, column, row): runs for row, runs in rows.items()}
        before |= dict.fromkeys(first)
        after |= dict.fromkeys(run for runs in rows.values() for run in runs)
    differences = (
        *fewer_epochs(asked.epochs, PAPER_EPOCHS, "training before"),
        *fewer_epochs(max(asked.epochs // 2, 1), PAPER_TUNING, "fine-tuning"),
        *other_batch(asked),
        *COMMON,
        *ROTATION,
    )
    title = "LeNet-5 fine-tuned on rotated images (ElasticZO, table 2)"
    stages = (slowest_first(before), slowest_first(after))
    return Table("elasticzo-table2", title, stages, cells, (UNTUNED, *ROWS), TABLE2, differences, **CLAIMED)


CLAIMED: Mapping[str, Any] = {
    "claims": descending(ROWS[::-1]),
    "order": "Full BP > Cls1 > Cls2 > Full ZO",
    "titles": TITLES,
}

COMMON = (
    "The 50,000 training images are the first of the data set's 60,000; the paper does not say which.",
    "r_max comes from a short search on the 10,000 training images left over (docs/experiments.md); the paper tunes it and does not print it.",
    "The activation exponent has the scope of one sample, as in equation (11); the paper's PyTorch program may take that of the batch.",
    "The error of the logits is rounded by its own low bits (docs/arithmetic.md, section 6); NITI's program draws true random numbers.",
    "Pixels enter as p >> 1, weights start by Xavier uniform, and the generator of the perturbations is that of docs/arithmetic.md.",
    "The accuracy is that of the last epoch, not of the best.",
)
ROTATION = (
    "The 1,024 images of each split are drawn here and turned counter-clockwise, bilinearly; the paper states neither draw nor direction nor interpolation.",
    "Fine-tuning follows the schedule of section 5.1.1 from its beginning; the paper does not say which part of it holds.",
)


def _run(
    asked: Asked, data: str, column: str, row: str, seed: int, epochs: int, start: str | None = None
) -> ExponentRun:
    """Return the run of a cell; Full BP compares no losses, so that INT8* is the run of INT8."""
    paper = PAPER_TUNING if start else PAPER_EPOCHS
    column = "int8" if row == "full-bp" else column
    return ExponentRun(data, column, row, seed, epochs, paper, asked.batch, r_max(data, column, row), start)


def slowest_first(runs: Mapping[ExponentRun, None]) -> tuple[ExponentRun, ...]:
    """Return the runs with the longest in front, so that no core waits for one at the end."""
    return tuple(sorted(runs, key=lambda run: run.variant != "full-bp"))


def fewer_epochs(here: int, paper: int, what: str) -> Sequence[str]:
    """Say that a training is shorter than the paper's; nothing where it is not."""
    if here == paper:
        return ()
    return (f"{here} epochs of {what} in the place of {paper}; the marks of the schedule moved in proportion.",)


def other_batch(asked: Asked) -> Sequence[str]:
    """Say that the batch is not the paper's; nothing where it is."""
    return () if asked.batch == PAPER_BATCH else (f"A batch of {asked.batch} in the place of {PAPER_BATCH}.",)
