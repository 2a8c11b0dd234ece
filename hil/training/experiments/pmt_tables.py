"""Tables of Poor Man's Training as runs: the runs of every cell, and the differences from the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from hil.training.data.corruption.by_name import FAMILIES
from hil.training.experiments.pmt_differences import DEFAULT, EQUAL_PASSES, PASSES, SAME_RATE, table_of
from hil.training.experiments.pmt_figures import figure7, figure8, figure9, figure10, figure11
from hil.training.experiments.pmt_published import TABLE4, TABLE5, TABLE6, TABLE7, TABLE7_COLUMNS
from hil.training.experiments.pmt_runs import BLOCKS, FP32, Builder, PmtRequest, TrainingSetup
from hil.training.experiments.pmt_transfer import table10, table11
from hil.training.experiments.run import Given
from hil.training.experiments.table import Axis, Table

FEWEST_STEPS = 10  # of DeepZero, whose steps cost most; its batches are reduced to allow them
BASELINES = {
    "mezo": TrainingSetup((), "mezo"),
    "mezo-batch": TrainingSetup((("direction", "batch"),), "mezo"),
    "deepzero-0": TrainingSetup((("sparsity", 0),), "deepzero", fewest_steps=FEWEST_STEPS, epochs=1),
    "deepzero-0.9": TrainingSetup((("sparsity", 230),), "deepzero", fewest_steps=FEWEST_STEPS, epochs=1),
}
LAST_BLOCK = 8  # mask of MCUTrain's fixed layers


def table4(request: PmtRequest) -> Table:
    """Table 4: one block for all corruptions against the block chosen for each."""
    builder = Builder(request)
    families = {
        name: [one for one in family if request.corruptions is None or one in request.corruptions]
        for name, family in FAMILIES.items()
    }
    families = {name: family for name, family in families.items() if family}
    tuned_on = next(iter(families.values()))[0]
    for name, family in families.items():
        for row, mask in BLOCKS.items():
            builder.row(name, row, family, builder.block(mask), tuned_on)
        builder.row(name, "adaptive", family, builder.block(15), tuned_on, chosen=True)
        builder.cells[builder.data, name, "none"] = builder.cells[builder.data, name, "block1"]
    claims = (*(("adaptive", row) for row in BLOCKS), ("adaptive", "none"))
    paper = {(column, row): values[column] for row, values in TABLE4.items() for column in values}
    differences = (
        "Corruptions: " + "; ".join(f"{name}: {', '.join(family)}" for name, family in families.items()) + ".",
        SAME_RATE.format(tuned_on),
    )
    order = "the block chosen for the task above each fixed block"
    return table_of(
        "pmt-table4", "Fixed and chosen blocks", builder, ("none", *TABLE4), claims, order, differences, paper
    )


def table5(request: PmtRequest) -> Table:
    """Table 5: MeZO and DeepZero on all layers, against Poor Man's Training in the block that it chooses."""
    rows = {row: BASELINES[row] for row in ("mezo", "mezo-batch", "deepzero-0.9")}
    return _baselines(request, "pmt-table5", rows, TABLE5, own_block=False)


def table6(request: PmtRequest) -> Table:
    """Table 6: the same, with one block for all methods."""
    return _baselines(request, "pmt-table6", BASELINES, TABLE6, own_block=True)


def table7(request: PmtRequest) -> Table:
    """Table 7: Poor Man's Training against back-propagation in INT8 with and without QAS."""
    builder = Builder(request)
    corruptions = request.corruptions or TABLE7_COLUMNS
    ways: dict[str, tuple[str, Given]] = {
        "bp-int8": ("int8-bp", (("qas", 0),)),
        "bp-int8-qas": ("int8-bp", (("qas", 1),)),
        "mcutrain": ("mcutrain", request.block(LAST_BLOCK)),
        "tinytrain": ("tinytrain", ()),
    }
    not_run = {}
    if request.kept < 2 * request.batch:
        not_run["tinytrain"] = "an epoch of one step only ranks layers."
    for corruption in corruptions:
        for row, (method, given) in ways.items():
            if row not in not_run:
                builder.row(corruption, row, (corruption,), TrainingSetup(given, method), corruptions[0])
        builder.float_row(corruption, FP32, (corruption,), corruptions[0])
        builder.row(corruption, "pmt", (corruption,), builder.block(15), corruptions[0], chosen=True)
        builder.cells[builder.data, corruption, "none"] = builder.cells[builder.data, corruption, "pmt"]
    rows = ("none", FP32, "bp-int8", "bp-int8-qas", "mcutrain", "tinytrain", "pmt")
    claims = (("pmt", "none"), ("pmt", "bp-int8"), ("mcutrain", "bp-int8"), (FP32, "bp-int8"))
    paper = {(column, row): value for row, values in TABLE7.items() for column, value in values.items()}
    differences = (
        SAME_RATE.format(corruptions[0]),
        "MCUTrain's fixed layers, which it finds by search, are those of the last block; it has momentum 0.9, "
        "which the paper leaves out of all methods.",
        "TinyTrain is no row of the paper's table (its table 10 has it, in FP32, on other data); it has the default "
        "budgets and momentum 0.9. The rate changes with every epoch, whose first step therefore ranks and trains "
        "nothing.",
    )
    order = "Poor Man's Training above no adaptation and above INT8 BP without QAS, MCUTrain and FP32 BP above INT8 BP"
    return table_of(
        "pmt-table7", "Beside back-propagation", builder, rows, claims, order, differences, paper, not_run=not_run
    )


PMT_TABLES: Mapping[str, Callable[[PmtRequest], Table]] = {
    "pmt-figure7": figure7,
    "pmt-figure8": figure8,
    "pmt-figure9": figure9,
    "pmt-figure10": figure10,
    "pmt-figure11": figure11,
    "pmt-table4": table4,
    "pmt-table5": table5,
    "pmt-table6": table6,
    "pmt-table7": table7,
    "pmt-table10": table10,
    "pmt-table11": table11,
}


def _baselines(
    request: PmtRequest, name: str, rows: Mapping[str, TrainingSetup], published: Mapping[str, float], own_block: bool
) -> Table:
    layers = max(len(request.layers(request.block(mask))) for mask in BLOCKS.values())
    budget = request.budget(layers)
    builder = Builder(request, budget)
    corruptions = request.corruptions or (DEFAULT,)
    for corruption in corruptions:
        builder.row(corruption, "pmt", (corruption,), builder.block(15), corruptions[0], chosen=True)
        builder.cells[builder.data, corruption, "none"] = builder.cells[builder.data, corruption, "pmt"]
        for row, way in rows.items():
            builder.row(corruption, row, (corruption,), replace(way, budget=budget), corruptions[0], chosen=own_block)
    claims = (*(("pmt", row) for row in rows), ("deepzero-0.9", "mezo"), ("pmt", "none"))
    paper = {(DEFAULT, row): value for row, value in published.items()} if DEFAULT in corruptions else {}
    differences = (
        f"Every row has {budget:,} perturbed forward passes. {EQUAL_PASSES}",
        SAME_RATE.format(corruptions[0]),
    )
    title = "Baselines with the same block" if own_block else "Baselines on all layers"
    order = "Poor Man's Training above DeepZero above MeZO"
    axis = Axis(PASSES, budget / 1e6)
    return table_of(name, title, builder, ("none", *rows, "pmt"), claims, order, differences, paper, axis=axis)
