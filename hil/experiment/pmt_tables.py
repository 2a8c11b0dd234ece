"""The tables and figures of Poor Man's Training as runs: what has to be trained for every cell, and what differs from the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hil.data.corrupt import FAMILIES
from hil.experiment.graphs import Given, GraphRun
from hil.experiment.paper_pmt import BLOCKS as TABLE4_ROWS
from hil.experiment.paper_pmt import TABLE4, TABLE5, TABLE6, TABLE7, TABLE7_COLUMNS, TITLES
from hil.experiment.pmt import BLOCKS, PMT, AskedPmt, Builder, Way
from hil.experiment.pmt_differences import EQUAL_PASSES, NO_NUMBERS, SAME_RATE, common
from hil.experiment.table import COSINE, LOSS, Axis, Claims, Table, descending
from hil.network.tflite.methods import METHODS
from hil.network.tflite.settings import LIMITS

DEFAULT, PASSES = "gaussian-noise", "forward passes, millions"
# Blocks of the figures, as masks. The paper trains four pointwise layers, two of them with more nodes than weights: resnet-tiny has four in blocks 1 and 2,
# three of them so; lenet5-tflite is trained as a whole, two of its five layers are so.
CURVED = {"resnet-tiny": 3, "lenet5-tflite": 15}
SCALING = {"gns+qas": (1, 1), "qas": (0, 1), "gns": (1, 0), "neither": (0, 0)}
ESTIMATORS = {
    "layer-adaptive": ("adaptive", "layer"),
    "layer-weight": ("weight", "layer"),
    "layer-node": ("node", "layer"),
    "model-weight": ("weight", "model"),
    "model-node": ("node", "model"),
}
FEWEST_STEPS = 10  # of DeepZero, whose steps cost most; its batches are made smaller for it
LAST_BLOCK = 8  # mask of the fixed layers of MCUTrain
TENTH, NONE = 230, 0  # sparsity of DeepZero-0.9 and DeepZero-0


def figure7(asked: AskedPmt) -> Table:
    """Figure 7: training loss with and without each scaling (left), and of each estimator at equal forward passes (right)."""
    builder = Builder(asked)
    blocks = asked.block(CURVED[asked.network])
    each, total = _equal(asked, len(asked.layers(blocks)))
    for corruption in asked.corruptions or (DEFAULT,):
        for row, (gns, qas) in SCALING.items():
            given = (*blocks, ("perturb", "node"), ("gns", gns), ("qas", qas), ("queries", asked.queries))
            builder.row(f"{corruption}-scaling", row, (corruption,), Way(given), corruption)
        for row, (perturb, wise) in ESTIMATORS.items():
            queries = each if wise == "layer" else total
            given = (*blocks, ("perturb", perturb), ("wise", wise), ("queries", queries))
            builder.row(f"{corruption}-estimator", row, (corruption,), Way(given), corruption)
    claims: Claims = (
        *(("gns+qas", row) for row in ("qas", "gns", "neither")),
        *(("layer-adaptive", row) for row in tuple(ESTIMATORS)[1:]),
        ("layer-weight", "model-weight"),
        ("layer-node", "model-node"),
    )
    order = "GNS and QAS below each without one; adaptive layer-wise below all others, layer-wise below model-wise"
    differences = (
        f"Trained are {', '.join(asked.layers(blocks))}; the paper trains the four pointwise layers of its block 1.",
        f"By estimator, a sample has {total} forward passes in a step: so many queries model-wise, {each} for each layer layer-wise.",
        NO_NUMBERS,
    )
    return _table(
        "pmt-figure7", "Training loss", builder, (*SCALING, *ESTIMATORS), claims, order, differences, measure=LOSS
    )


def figure8(asked: AskedPmt) -> Table:
    """Figure 8: cosine of the estimate and the slope by layer, against Q; and of each estimator (figure 5)."""
    builder, corruption = Builder(asked), (asked.corruptions or (DEFAULT,))[0]
    layers, counts = asked.layers(()), _counts(asked.queries)
    ways: dict[str, Given] = {f"Q={count}": (("perturb", "adaptive"), ("queries", count)) for count in counts}
    each, total = _equal(asked, len(layers))
    for name, (perturb, wise) in ESTIMATORS.items():
        queries = each if wise == "layer" else total
        ways[name] = (("perturb", perturb), ("wise", wise), ("queries", queries))
    for row, given in ways.items():
        runs = tuple(
            GraphRun(
                asked.set_of(corruption), "all", row, seed, 1, asked.batch, asked.network, PMT, given, eta=0.01, steps=1, compares=True
            )
            for seed in range(1, asked.seeds + 1)
        )  # fmt: skip
        builder.stages[3].update(dict.fromkeys(runs))
        for layer in layers:
            builder.cells[builder.data, layer, row] = runs
    claims = (
        *descending([f"Q={count}" for count in counts[::-1]]),
        ("layer-weight", "model-weight"),
        ("layer-node", "model-node"),
    )
    differences = (
        "The slope is that of the network in double precision, straight through every rounding, at the integer activations; compared are weights, not biases.",
        f"Rows `Q=...` are adaptive and layer-wise, with so many queries for each layer; the others have {total} forward passes a sample "
        f"in all: layer-wise {each} for each layer (figure 5).",
        f"One step of {asked.batch} samples of {corruption}, by the pre-trained network.",
        NO_NUMBERS,
    )
    order = "more queries above fewer, layer-wise above model-wise"
    return _table("pmt-figure8", "Estimate and slope", builder, tuple(ways), claims, order, differences, measure=COSINE)


def figure9(asked: AskedPmt) -> Table:
    """Figure 9: accuracy against forward passes, for several Q."""
    builder, corruption = Builder(asked), (asked.corruptions or (DEFAULT,))[0]
    blocks = asked.block(CURVED[asked.network])
    budget, counts = _budget(asked, len(asked.layers(blocks))), _counts(asked.queries)[1:]
    for count in counts:
        way = Way((*blocks, ("queries", count)), budget=budget)
        builder.row(corruption, f"Q={count}", (corruption,), way, corruption)
    rows = tuple(f"Q={count}" for count in counts)
    differences = (
        f"Trained are {', '.join(asked.layers(blocks))}; every row has {budget:,} forward passes, fewer queries make more steps.",
        "Forward passes are those with a perturbation, from the perturbed layer on, as the paper counts them; accuracy is that of the test images.",
        NO_NUMBERS,
    )
    axis = Axis(PASSES, budget / 1e6)
    order = "most queries above fewest (the paper: comparable, more queries marginally better)"
    return _table("pmt-figure9", "Forward passes", builder, rows, ((rows[-1], rows[0]),), order, differences, axis=axis)


def table4(asked: AskedPmt) -> Table:
    """Table 4: one block for all corruptions against the block chosen for each."""
    builder = Builder(asked)
    families = {
        name: [one for one in family if asked.corruptions is None or one in asked.corruptions]
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
    return _table(
        "pmt-table4", "Fixed and chosen blocks", builder, ("none", *TABLE4_ROWS), claims, order, differences, paper
    )


def table5(asked: AskedPmt) -> Table:
    """Table 5: MeZO and DeepZero on all layers, beside Poor Man's Training in the block that it chooses."""
    rows = {"mezo": _mezo, "deepzero-0.9": _deepzero_tenth}
    return _baselines(asked, "pmt-table5", rows, TABLE5, own_block=False)


def table6(asked: AskedPmt) -> Table:
    """Table 6: the same with the same block for all."""
    rows = {"mezo": _mezo, "deepzero-0": _deepzero_dense, "deepzero-0.9": _deepzero_tenth}
    return _baselines(asked, "pmt-table6", rows, TABLE6, own_block=True)


def table7(asked: AskedPmt) -> Table:
    """Table 7: Poor Man's Training beside back-propagation in INT8 with and without QAS."""
    builder = Builder(asked)
    corruptions = asked.corruptions or TABLE7_COLUMNS
    not_run = {"bp-fp32": "training in floats is no part of this project."}
    ways: dict[str, tuple[str, Given]] = {
        "bp-int8": ("int8-bp", (("qas", 0),)),
        "bp-int8-qas": ("int8-bp", (("qas", 1),)),
        "mcutrain": ("mcutrain", asked.block(LAST_BLOCK)),
    }
    not_run |= {row: f"there is no method {method} yet." for row, (method, _) in ways.items() if method not in METHODS}
    for corruption in corruptions:
        for row, (method, given) in ways.items():
            if row not in not_run:
                builder.row(corruption, row, (corruption,), Way(given, method), corruptions[0])
        builder.row(corruption, "pmt", (corruption,), builder.block(15), corruptions[0], chosen=True)
        builder.cells[builder.data, corruption, "none"] = builder.cells[builder.data, corruption, "pmt"]
    rows = ("none", "bp-fp32", "bp-int8", "bp-int8-qas", "mcutrain", "pmt")
    claims = (("pmt", "none"), ("pmt", "bp-int8"), ("mcutrain", "bp-int8"))
    paper = {(column, row): value for row, values in TABLE7.items() for column, value in values.items()}
    differences = (
        SAME_RATE.format(corruptions[0]),
        "MCUTrain's fixed layers, which it finds by search, are those of the last block; it has momentum 0.9, which the paper leaves out of all methods.",
    )
    order = "Poor Man's Training above no adaptation and above INT8 BP without QAS, MCUTrain above INT8 BP"
    return _table(
        "pmt-table7", "Beside back-propagation", builder, rows, claims, order, differences, paper, not_run=not_run
    )


PMT_TABLES: Mapping[str, Callable[[AskedPmt], Table]] = {
    "pmt-figure7": figure7,
    "pmt-figure8": figure8,
    "pmt-figure9": figure9,
    "pmt-table4": table4,
    "pmt-table5": table5,
    "pmt-table6": table6,
    "pmt-table7": table7,
}


def _baselines(
    asked: AskedPmt,
    name: str,
    rows: Mapping[str, Callable[[AskedPmt, int, bool], Way]],
    published: Mapping[str, float],
    own_block: bool,
) -> Table:
    builder = Builder(asked)
    layers = max(len(asked.layers(asked.block(mask))) for mask in BLOCKS.values())
    budget = _budget(asked, layers)
    corruptions = asked.corruptions or (DEFAULT,)
    for corruption in corruptions:
        builder.row(corruption, "pmt", (corruption,), builder.block(15, budget), corruptions[0], chosen=True)
        builder.cells[builder.data, corruption, "none"] = builder.cells[builder.data, corruption, "pmt"]
        for row, way in rows.items():
            builder.row(corruption, row, (corruption,), way(asked, budget, own_block), corruptions[0], chosen=own_block)
    claims = (*(("pmt", row) for row in rows), ("deepzero-0.9", "mezo"), ("pmt", "none"))
    paper = {
        (corruption, row): value
        for corruption in corruptions
        if corruption == DEFAULT
        for row, value in published.items()
    }
    differences = (
        f"Every row has {budget:,} perturbed forward passes. {EQUAL_PASSES}",
        SAME_RATE.format(corruptions[0]),
    )
    title = "Baselines with the same block" if own_block else "Baselines on all layers"
    order = "Poor Man's Training above DeepZero above MeZO"
    axis = Axis(PASSES, budget / 1e6)
    return _table(name, title, builder, ("none", *rows, "pmt"), claims, order, differences, paper, axis=axis)


def _mezo(asked: AskedPmt, budget: int, own_block: bool) -> Way:
    return Way((), "mezo", budget)


def _deepzero_tenth(asked: AskedPmt, budget: int, own_block: bool) -> Way:
    return _deepzero(asked, budget, own_block, TENTH)


def _deepzero_dense(asked: AskedPmt, budget: int, own_block: bool) -> Way:
    return _deepzero(asked, budget, own_block, NONE)


def _deepzero(asked: AskedPmt, budget: int, own_block: bool, sparsity: int) -> Way:
    """Return DeepZero in one row of the curve, its batches so small that the budget is enough for some steps."""
    masks = BLOCKS.values() if own_block else (15,)
    given: Given = (("sparsity", sparsity),)
    largest = max(_passes(asked, given, mask, own_block) for mask in masks)
    batch = min(max(budget // largest // FEWEST_STEPS, 1), asked.batch)
    return Way(given, "deepzero", budget, batch, epochs=1)


def _passes(asked: AskedPmt, given: Given, mask: int, own_block: bool) -> int:
    blocks = asked.block(mask) if own_block else ()
    return GraphRun("", "", "", 1, 1, 1, asked.network, "deepzero", (*given, *blocks)).forwards()


def _budget(asked: AskedPmt, layers: int) -> int:
    """Return the perturbed forward passes of an adaptation with all queries for so many layers."""
    steps = asked.epochs * (asked.images // asked.batch)
    return steps * asked.batch * layers * asked.queries


def _equal(asked: AskedPmt, layers: int) -> tuple[int, int]:
    """Return queries for each layer and for the whole model that make as many forward passes; a step has 127 queries at most."""
    each = max(min(asked.queries, LIMITS["queries"][1] // layers), 1)
    return each, each * layers


def _counts(queries: int) -> tuple[int, ...]:
    """Return numbers of queries up to the one asked for, rising, about threefold."""
    return tuple(sorted({max(round(queries * share), 1) for share in (0.01, 0.03, 0.1, 0.3, 1.0)}))


def _table(
    name: str,
    title: str,
    builder: Builder,
    rows: tuple[str, ...],
    claims: Claims,
    order: str,
    differences: tuple[str, ...],
    paper: Mapping[tuple[str, str], float] | None = None,
    **others: object,
) -> Table:
    asked = builder.asked
    published = {(builder.data, column, row): value for (column, row), value in (paper or {}).items()}
    return Table(
        name,
        f"{title}: {asked.network} on corrupted images ({name.removeprefix('pmt-')} of Poor Man's Training)",
        builder.all_stages,
        builder.cells,  # type: ignore[arg-type]  # of one kind of run
        rows,
        published,
        (*differences, *common(asked, others.get("measure") is not COSINE)),
        claims=claims,
        order=order,
        titles=TITLES,
        choices=builder.choices,
        **others,  # type: ignore[arg-type]  # fields by name
    )
