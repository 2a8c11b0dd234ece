"""Tables and comparisons of ElasticZO as runs (`papers/elasticzo.toml`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product, zip_longest
from typing import Any

from hil.training.experiments.builder import Builder, ExperimentRequest
from hil.training.experiments.exponents import ExponentRun
from hil.training.experiments.float_runs import ADAM, FloatRun
from hil.training.experiments.kinds import Run
from hil.training.experiments.paper import Column, Experiment, paper
from hil.training.experiments.table import NONE, Cell, PaperTable

FP32, INTEGERS = "fp32", ("int8", "int8star")  # columns
CLOUDS = "furniture-clouds"  # stands in for ModelNet40
TABLES = ("elasticzo-table1", "elasticzo-table2")  # with the column of FP32
PAPER_EPOCHS, PAPER_TUNING, PAPER_BATCH, FP32_BATCH = 100, 50, 256, 32  # ElasticZO, sections 5.1.1 and 5.2
ANGLES = (30, 45)  # degrees, of table 2
LENET, POINTNET = "lenet5-float32", "pointnet-float32"
CLOUD_EPOCHS = 2  # PointNet has 200 epochs where LeNet-5 has 100
SEARCH_SEEDS = 2  # as in the search of r_max
SEARCH_SHARE = 5  # a search on images is the first fifth of a run, at its full rates; one on clouds is a whole run
IMAGES_HELD_OUT, ROTATED_HELD_OUT = "@50000-10000", "@824-200"  # for the choice of a rate
CLOUDS_HELD_OUT = "@200-50"


def table(experiment: Experiment, request: ExperimentRequest) -> PaperTable:
    """Return a table of runs from initial weights, or for table 2 of fine-tuning: FP32 before the others of a data set.

    What the runs of FP32 depend on trains first, together with the first runs of INT8.
    """
    columns, tuned = request.columns or INTEGERS, experiment.name == TABLES[1]
    if tuned:  # on images alone
        request = replace(request, data=tuple(name for name in request.data if name != CLOUDS))
    ints, floats = Builder(experiment, request), Builder(experiment, request, SEARCH_SEEDS)
    cases = experiment.columns
    if experiment.name in (*TABLES, "elasticzo-r-max"):
        cases = tuple(case for column in columns for case in experiment.columns if case.kind == column)
    if FP32 in columns and experiment.name in TABLES:
        _add_floats(floats, tuned)
    first = _add_tuned(ints, cases) if tuned else _add(ints, cases)
    stages = [_slowest_first(first), _slowest_first(ints.runs)]
    stages = stages if tuned else stages[1:]
    merged: dict[Cell, tuple[Run, ...]] = {}
    for data in dict.fromkeys(data for data, _, _ in (*floats.cells, *ints.cells)):
        for cells in (floats.cells, ints.cells):
            merged |= {cell: runs for cell, runs in cells.items() if cell[0] == data}
    both = [(*one, *other) for one, other in zip_longest(stages, floats.stages, fillvalue=())]
    return floats.table(
        _facts(request, bool(cases), bool(floats.cells)),
        stages=tuple(stage for stage in both if stage),
        cells=merged if floats.cells else ints.cells,
    )


def _facts(request: ExperimentRequest, ints: bool, floats: bool) -> dict[str, Any]:
    tuning, batch = max(request.epochs // 2, 1), request.batch or PAPER_BATCH
    clouds = CLOUDS in request.data and floats
    fewer = request.epochs != PAPER_EPOCHS
    return {
        "networks": "LeNet-5 and PointNet" if clouds else "LeNet-5",
        "epochs": request.epochs, "tuning": tuning, "batch": batch != PAPER_BATCH and ints and batch,
        "shorter": fewer, "shorter-before": fewer, "shorter-tuning": tuning != PAPER_TUNING, "common": ints,
        "floats": floats, "pre-training": floats, "clouds": clouds,
        "floats-batch": floats and (request.batch or FP32_BATCH) != FP32_BATCH, "floats_batch": request.batch,
    }  # fmt: skip


def r_max(data: str, column: str, variant: str) -> int:
    """Return the scale of the perturbation; rotated images use that of the plain set, and Full BP does not use it.

    docs/elasticzo.md describes the search; it used no test image.
    """
    searched = paper("elasticzo").values["r_max"]
    found: int = searched["fashion-mnist" if "fashion-mnist" in data else "mnist"][column].get(variant, 15)
    return found


def _run(request: ExperimentRequest, data: str, case: Column, row: str, **others: Any) -> ExponentRun:
    """Return the run of a cell. Full BP compares no losses, so its run in column INT8* is the one of INT8."""
    column = "int8" if row == "full-bp" else case.kind
    scale, settings = case.r_max or r_max(data, column, row), tuple(case.settings.items())
    run = ExponentRun(data, column, row, 1, request.epochs, r_max=scale, given=settings, tag=case.tag)
    return replace(run, batch=request.batch or PAPER_BATCH, **others)


def _add(builder: Builder, cases: Sequence[Column]) -> tuple[ExponentRun, ...]:
    """Add the cells of INT8 from initial weights; no run trains before them."""
    request, experiment = builder.request, builder.experiment
    images = [name for name in request.data if name != CLOUDS]
    for data, case, row in product(images, cases, experiment.rows):
        builder.add((data, case.title, row), _run(request, data + experiment.part, case, row))
    return ()


def _add_tuned(builder: Builder, cases: Sequence[Column]) -> Iterable[ExponentRun]:
    """Add the cells of INT8 in table 2, and return the runs of back-propagation that they start from."""
    request, before = builder.request, dict[ExponentRun, None]()
    tuning: dict[str, Any] = {"epochs": max(request.epochs // 2, 1), "paper_epochs": PAPER_TUNING}
    for case, data, angle in product(cases, request.data, ANGLES):
        turned, full = f"rotated-{data}-{angle}", Column("int8", "int8")
        first = [_run(request, f"{data}-50k", full, "full-bp", seed=seed) for seed in builder.seeds]
        before |= dict.fromkeys(first)
        builder.cells[turned, case.title, NONE] = ()  # before the others
        for row in builder.experiment.rows[1:]:
            runs = [_run(request, turned, case, row, seed=run.seed, start=run.name, **tuning) for run in first]
            builder.cells[turned, case.title, row] = tuple(runs)
        builder.add_none(turned, case.title)
    return before


def _slowest_first(runs: Iterable[Run]) -> tuple[Run, ...]:
    """Return each run once, the longest first, so no core waits for a long one at the end."""
    return tuple(sorted(dict.fromkeys(runs), key=lambda run: run.variant != "full-bp"))


def _add_floats(builder: Builder, tuned: bool) -> None:
    """Add the columns of FP32: of table 1, or for table 2 with the pre-training by Adam."""
    request = builder.request
    batch = request.batch or FP32_BATCH
    for data, angle in product(request.data, ANGLES if tuned else (0,)):
        scale = CLOUD_EPOCHS if data == CLOUDS else 1
        network = POINTNET if data == CLOUDS else LENET
        epochs, paper_epochs = scale * request.epochs, scale * PAPER_EPOCHS
        share = 1 if data == CLOUDS else SEARCH_SHARE
        held_out = CLOUDS_HELD_OUT if data == CLOUDS else IMAGES_HELD_OUT
        name, starts, of_run = data, list[str](), data if data == CLOUDS else f"{data}-50k"
        if tuned:
            seeds = range(1, max(request.seeds, SEARCH_SEEDS) + 1)
            before = [FloatRun(f"{data}-50k", ADAM, "full-bp", seed, 1, batch, LENET, 1) for seed in seeds]
            builder.before |= dict.fromkeys(before)
            starts, name = [run.name for run in before], f"rotated-{data}-{angle}"
            epochs, paper_epochs, share, of_run, held_out = max(epochs // 2, 1), PAPER_TUNING, 1, name, ROTATED_HELD_OUT
        first = FloatRun(of_run, FP32, "", 1, epochs, batch, network, paper_epochs, start=starts[0] if starts else None)
        for row, declared in builder.experiment.declared.items():
            run = replace(first, variant=row)
            tried = replace(
                run, data=name + held_out, column="rate", epochs=max(epochs // share, 1),
                paper_epochs=paper_epochs // share,
            )  # fmt: skip
            run = replace(run, **builder.rate(tried, request.rates or declared.rates, starts))
            its = (replace(run, seed=seed, start=starts[seed - 1] if starts else None) for seed in builder.seeds)
            builder.cells[name, FP32, row] = tuple(its)
        if tuned:
            builder.add_none(name, FP32)
