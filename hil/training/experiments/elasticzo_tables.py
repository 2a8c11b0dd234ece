"""Tables and comparisons of ElasticZO as runs: the runs of every cell, and the differences from the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product, zip_longest
from typing import Any

from hil.training.experiments.chosen_r_max import r_max
from hil.training.experiments.elasticzo_fp32_tables import (
    CLOUDS,
    DIFFERENCES,
    FP32,
    OF_CLOUDS,
    OF_PRE_TRAINING,
    FloatColumns,
)
from hil.training.experiments.elasticzo_fp32_tables import PAPER_BATCH as FP32_BATCH
from hil.training.experiments.elasticzo_published import (
    FIXED_P_ZERO,
    FP32_TABLE1,
    FP32_TABLE2,
    ROWS,
    TABLE1,
    TABLE2,
    TITLES,
    UNTUNED,
)
from hil.training.experiments.exponents import START, ExponentRun
from hil.training.experiments.kinds import Run
from hil.training.experiments.run import Given
from hil.training.experiments.table import Cell, Table, descending

PAPER_EPOCHS, PAPER_TUNING, PAPER_BATCH = 100, 50, 256  # ElasticZO, sections 5.1.1 and 5.2
ANGLES = (30, 45)  # degrees
SCALES = (1, 3, 7, 15, 31, 63)  # r_max, ElasticZO, section 5.1.1
FORMS = ("niti", "zero-sum")  # of the logit error, docs/arithmetic.md, section 6
FRACTIONS = (0, 2, 4, 6)  # bits, docs/arithmetic.md, section 5
BY_ZO = ROWS[:-1]  # the rows with zeroth-order layers

CLAIMS: Mapping[str, Any] = {"claims": descending(ROWS[::-1]), "order": "Full BP > Cls1 > Cls2 > Full ZO"}
FIGURES = {"fp32": "figure 2", "int8": "figure 3", "int8star": "figure 3, integer losses"}
COMMON = (
    "The 50,000 training images are the first of the data set's 60,000; the paper does not say which.",
    "r_max comes from a short search on the 10,000 training images left over (docs/elasticzo.md); "
    "the paper tunes it and does not print it.",
    "The activation exponent has the scope of one sample, as in equation (11); "
    "the paper's PyTorch program may take that of the batch.",
    "The error of the logits is rounded by its own low bits (docs/arithmetic.md, section 6); "
    "NITI's program draws true random numbers.",
    "Pixels enter as p >> 1, weights start by Xavier uniform, "
    "and the generator of the perturbations is that of docs/arithmetic.md.",
    "The accuracy is that of the last epoch, not of the best.",
)
ROTATION = (
    "The 1,024 images of each split are drawn here and turned counter-clockwise, bilinearly; "
    "the paper states neither draw nor direction nor interpolation.",
    "Fine-tuning follows the schedule of section 5.1.1 from its beginning; "
    "the paper does not say which part of it holds.",
)


@dataclass(frozen=True)
class ElasticzoRequest:
    """What the user requested."""

    data: tuple[str, ...]  # `mnist`, `fashion-mnist`; for column `fp32` of table 1 also `furniture-clouds`
    columns: tuple[str, ...]  # `fp32`, `int8`, `int8star`
    seeds: int
    epochs: int  # of training from initial weights; fine-tuning uses half as many, as in the paper
    batch: int
    fp32_batch: int = FP32_BATCH
    rates: tuple[float, ...] = ()  # initial learning rates of the column `fp32`; empty for those of the row

    @property
    def images(self) -> tuple[str, ...]:
        """The data sets that are images."""
        return tuple(name for name in self.data if name != CLOUDS)

    @property
    def int8(self) -> tuple[str, ...]:
        """The columns of ElasticZO-INT8."""
        return tuple(column for column in self.columns if column != FP32)

    def float_columns(self) -> FloatColumns:
        """Return an empty collection of the runs of FP32."""
        return FloatColumns(self.seeds, self.epochs, self.fp32_batch, self.rates)


@dataclass(frozen=True)
class Case:
    """One column of a table."""

    column: str  # `int8` or `int8star`
    title: str  # in the table
    tag: str = ""  # part of the names of its runs; empty for runs that are also in table 1
    given: Given = ()  # settings that differ from those of the column
    scale: int | None = None  # r_max; None for the result of the search


def table1(request: ElasticzoRequest) -> Table:
    """Table 1: LeNet-5 trained from initial weights."""
    cases = [Case(column, column) for column in request.int8]
    title = "LeNet-5 from initial weights (ElasticZO, table 1)"
    floats = request.float_columns()
    for data in request.data if FP32 in request.columns else ():
        floats.from_initial_weights(data)
    if CLOUDS in request.data and floats.cells:
        title = "LeNet-5 and PointNet from initial weights (ElasticZO, table 1)"
    table = _table(request, "elasticzo-table1", title, ROWS, cases, paper=TABLE1, loss_charts=FIGURES, **CLAIMS)
    return _with_floats(table, request, floats, FP32_TABLE1, OF_CLOUDS if CLOUDS in request.data else ())


def table2(request: ElasticzoRequest) -> Table:
    """Table 2: LeNet-5 trained by back-propagation, then fine-tuned on rotated images."""
    before: dict[ExponentRun, None] = {}
    cells: dict[Cell, tuple[ExponentRun, ...]] = {}
    seeds, tuning = range(1, request.seeds + 1), max(request.epochs // 2, 1)
    floats = request.float_columns()
    for data, angle in product(request.images, ANGLES) if FP32 in request.columns else ():
        floats.from_pre_training(data, f"rotated-{data}-{angle}")
    for column, data, angle in product(request.int8, request.images, ANGLES):
        turned, case = f"rotated-{data}-{angle}", Case(column, column)
        first = [_run(request, f"{data}-50k", Case("int8", "int8"), "full-bp", seed) for seed in seeds]
        rows = {
            row: tuple(
                _run(request, turned, case, row, run.seed, epochs=tuning, paper_epochs=PAPER_TUNING, start=run.name)
                for run in first
            )
            for row in ROWS
        }
        rows = {UNTUNED: rows["full-bp"], **rows}
        cells |= {(turned, column, row): runs for row, runs in rows.items()}
        before |= dict.fromkeys(first)
    shorter = _fewer_epochs(request.epochs, PAPER_EPOCHS, "training before")
    shorter += _fewer_epochs(tuning, PAPER_TUNING, "fine-tuning")
    differences = (*shorter, *_other_batch(request), *COMMON, *ROTATION)
    if not cells:
        differences = (*shorter, *ROTATION)
    title = "LeNet-5 fine-tuned on rotated images (ElasticZO, table 2)"
    stages = (_slowest_first(before), _slowest_first(run for runs in cells.values() for run in runs))
    rows_of_table = (UNTUNED, *ROWS)
    table = Table("elasticzo-table2", title, stages, cells, rows_of_table, TABLE2, differences, titles=TITLES, **CLAIMS)
    return _with_floats(table, request, floats, FP32_TABLE2, OF_PRE_TRAINING)


def r_max_search(request: ElasticzoRequest) -> Table:
    """Every scale of the paper's grid, measured on 10,000 training images that are held out from all training."""
    cases = [
        Case(column, f"{TITLES[column]}, r_max {scale}", f"r{scale}", scale=scale)
        for column, scale in product(request.columns, SCALES)
    ]
    held_out = "The accuracy is that of the 10,000 training images that the tables do not train on."
    return _table(request, "elasticzo-r-max", "Choice of r_max", BY_ZO, cases, "@50000-10000", (held_out,))


def logit_error(request: ElasticzoRequest) -> Table:
    """Both forms of the logit error, for the rows that depend on it most."""
    cases = [Case("int8", form, form, (("logit_error", form),)) for form in FORMS]
    return _table(request, "elasticzo-logit-error", "Two forms of the error of the logits", ("cls1", "full-bp"), cases)


def loss_fraction(request: ElasticzoRequest) -> Table:
    """The integer loss with fraction bits, compared with the paper's integer loss and float losses."""
    cases = [Case("int8", TITLES["int8"])]
    for bits in FRACTIONS:
        given: Given = (("loss_fraction", bits),) if bits else ()
        title, tag = f"{TITLES['int8star']}, {bits} fraction bits", f"f{bits}" if bits else ""
        cases.append(Case("int8star", title, tag, given))
    return _table(request, "elasticzo-loss-fraction", "Integer losses with fraction bits", BY_ZO, cases)


def fixed_p_zero(request: ElasticzoRequest) -> Table:
    """Full ZO with the initial sparsity throughout (ElasticZO, section 5.2)."""
    scheduled = Case("int8", "p_zero by the schedule")
    fixed = Case("int8", "p_zero 0.33 throughout", "fixed", (("p_zero", START["p_zero"]),))
    paper: dict[Cell, float] = {}
    for data in request.data:
        paper[data, scheduled.title, "full-zo"] = TABLE1[data, "int8", "full-zo"]
        paper[data, fixed.title, "full-zo"] = FIXED_P_ZERO[data]
    title = "Full ZO with a fixed sparsity (ElasticZO, section 5.2)"
    return _table(request, "elasticzo-p-zero", title, ROWS[:1], (scheduled, fixed), paper=paper)


# Name of the experiment: its table, and its default number of epochs.
ELASTIC_TABLES: Mapping[str, tuple[Callable[[ElasticzoRequest], Table], int]] = {
    "elasticzo-table1": (table1, PAPER_EPOCHS),
    "elasticzo-table2": (table2, PAPER_EPOCHS),
    "elasticzo-r-max": (r_max_search, 5),
    "elasticzo-logit-error": (logit_error, 20),
    "elasticzo-loss-fraction": (loss_fraction, 20),
    "elasticzo-p-zero": (fixed_p_zero, PAPER_EPOCHS),
}


def _table(
    request: ElasticzoRequest,
    name: str,
    title: str,
    rows: Sequence[str],
    cases: Sequence[Case],
    part: str = "-50k",
    differences: Sequence[str] = (),
    paper: Mapping[Cell, float] | None = None,
    **others: Any,
) -> Table:
    """Return a table of runs from initial weights: one row per variant, one column per data set and case.

    `part` is the part of each data set for training, `differences` are those besides those of all tables.
    """
    seeds = range(1, request.seeds + 1)
    cells: dict[Cell, tuple[ExponentRun, ...]] = {
        (data, case.title, row): tuple(_run(request, data + part, case, row, seed) for seed in seeds)
        for data, case, row in product(request.images, cases, rows)
    }
    stage = _slowest_first(run for runs in cells.values() for run in runs)
    shorter = _fewer_epochs(request.epochs, PAPER_EPOCHS, "training")
    sentences = (*differences, *shorter, *_other_batch(request), *(COMMON if cases else ()))
    return Table(name, title, (stage,), cells, tuple(rows), paper or {}, sentences, titles=TITLES, **others)


def _with_floats(
    table: Table,
    request: ElasticzoRequest,
    floats: FloatColumns,
    paper: Mapping[Cell, float],
    differences: Sequence[str],
) -> Table:
    """Return a table with the columns of FP32 before the others of a data set.

    What the FP32 runs depend on trains first, together with the first runs of INT8.
    """
    if not floats.cells:
        return table
    merged: dict[Cell, tuple[Run, ...]] = {}
    for data in dict.fromkeys(data for data, _, _ in (*floats.cells, *table.cells)):
        merged |= {
            cell: runs for cells in (floats.cells, table.cells) for cell, runs in cells.items() if cell[0] == data
        }
    ours = [stage for stage in (tuple(floats.before), floats.searched, floats.runs) if stage]
    stages = [(*one, *other) for one, other in zip_longest(table.stages, ours, fillvalue=())]
    sizes = () if request.fp32_batch == FP32_BATCH else (f"FP32: a batch of {request.fp32_batch}, not {FP32_BATCH}.",)
    return replace(
        table,
        stages=tuple(stage for stage in stages if stage),
        cells=merged,
        paper={**table.paper, **paper},
        differences=(*table.differences, *DIFFERENCES, *differences, *sizes),
        searches=tuple(floats.searches),
        choices=floats.choices,
    )


def _run(
    request: ElasticzoRequest,
    data: str,
    case: Case,
    row: str,
    seed: int,
    epochs: int | None = None,
    paper_epochs: int = PAPER_EPOCHS,
    start: str | None = None,
) -> ExponentRun:
    """Return the run of a cell. Full BP compares no losses, so its run in column INT8* is the one of INT8."""
    column = "int8" if row == "full-bp" else case.column
    scale, epochs = case.scale or r_max(data, column, row), epochs or request.epochs
    cell = data, column, row, seed
    return ExponentRun(*cell, epochs, paper_epochs, request.batch, scale, start, case.given, case.tag)


def _slowest_first(runs: Iterable[ExponentRun]) -> tuple[ExponentRun, ...]:
    """Return each run once, the longest first, so no core waits for a long one at the end."""
    return tuple(sorted(dict.fromkeys(runs), key=lambda run: run.variant != "full-bp"))


def _fewer_epochs(here: int, paper: int, what: str) -> tuple[str, ...]:
    """Return a sentence if the training is shorter than the paper's."""
    sentence = f"{here} epochs of {what} in the place of {paper}; the marks of the schedule moved in proportion."
    return () if here == paper else (sentence,)


def _other_batch(request: ElasticzoRequest) -> tuple[str, ...]:
    """Return a sentence if the batch differs from the paper's."""
    return (
        ()
        if request.batch == PAPER_BATCH or not request.int8
        else (f"A batch of {request.batch} in the place of {PAPER_BATCH}.",)
    )
