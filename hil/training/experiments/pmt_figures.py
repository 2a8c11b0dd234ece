"""Figures of Poor Man's Training as runs: the runs of every line, and the differences from the paper."""

from __future__ import annotations

from hil.training.data.names import public_name
from hil.training.experiments.graphs import GraphRun
from hil.training.experiments.pmt_differences import DEFAULT, NO_NUMBERS, PASSES, table_of
from hil.training.experiments.pmt_runs import FP32, PMT, Builder, PmtRequest, TrainingSetup
from hil.training.experiments.run import Given
from hil.training.experiments.table import COSINE, LOSS, Axis, Claims, Table, descending
from hil.training.methods.graph_settings import LIMITS

SCALING = {"gns+qas": (1, 1), "qas": (0, 1), "gns": (1, 0), "neither": (0, 0)}
ESTIMATORS = {
    "layer-adaptive": ("adaptive", "layer"),
    "layer-weight": ("weight", "layer"),
    "layer-node": ("node", "layer"),
    "model-weight": ("weight", "model"),
    "model-node": ("node", "model"),
}
SCALED: Claims = tuple(("gns+qas", row) for row in ("qas", "gns", "neither"))
ESTIMATED: Claims = (
    *(("layer-adaptive", row) for row in tuple(ESTIMATORS)[1:]),
    ("layer-weight", "model-weight"),
    ("layer-node", "model-node"),
)
FAMILY_TASKS = ("gaussian-noise", "motion-blur", "fog", "contrast")  # one corruption of each family
SHARES = (0.01, 0.03, 0.1, 0.3, 1.0)  # of --queries: the compared numbers of queries


def figure7(request: PmtRequest) -> Table:
    """Figure 7: training loss with and without each scaling, and of each estimator at equal forward passes."""
    builder = Builder(request)
    blocks = request.block(request.curved)
    for corruption in request.corruptions or (DEFAULT,):
        _scalings(builder, f"{corruption}-scaling", corruption)
        _estimators(builder, f"{corruption}-estimator", corruption)
    order = "GNS and QAS below each without one; adaptive layer-wise below all others, layer-wise below model-wise"
    differences = (
        f"Trained are {', '.join(request.layers(blocks))}; the paper trains the four pointwise layers of its block 1.",
        _passes(request),
        NO_NUMBERS,
    )
    claims = (*SCALED, *ESTIMATED)
    return table_of(
        "pmt-figure7", "Training loss", builder, (*SCALING, *ESTIMATORS), claims, order, differences, measure=LOSS
    )


def figure10(request: PmtRequest) -> Table:
    """Figure 10: training loss with and without each scaling on several tasks, beside back-propagation."""
    builder = Builder(request)
    blocks = request.block(request.curved)
    for task in request.tasks(FAMILY_TASKS):
        _scalings(builder, public_name(task), task)
        bp = TrainingSetup((*blocks, ("qas", 1)), "int8-bp")
        builder.row(public_name(task), "bp-int8-qas", (task,), bp, task)
        builder.float_row(public_name(task), FP32, (task,), task)
    differences = (
        f"Trained are {_layers(request)}. The paper trains four pointwise layers: of block 1 for corruptions, of "
        "block 2 for Pets, of block 3 for VWW. BP in INT8 trains the same layers as the rows of Poor Man's Training.",
        NO_NUMBERS,
    )
    rows = (*SCALING, "bp-int8-qas", FP32)
    titles = {"bp-int8-qas": "BP, INT8, QAS, the same layers"}
    order = "GNS and QAS below each without one"
    return table_of(
        "pmt-figure10", "Training loss by scaling", builder, rows, SCALED, order, differences, measure=LOSS,
        titles=titles,
    )  # fmt: skip


def figure11(request: PmtRequest) -> Table:
    """Figure 11: training loss of each estimator at equal forward passes on several tasks."""
    builder = Builder(request)
    for task in request.tasks(FAMILY_TASKS):
        _estimators(builder, public_name(task), task)
    differences = (
        f"Trained are {_layers(request)}. The paper trains four pointwise layers: of block 1 for corruptions, of "
        "block 2 for Pets, of block 3 for VWW.",
        _passes(request),
        NO_NUMBERS,
    )
    order = "adaptive layer-wise below all others, layer-wise below model-wise"
    return table_of(
        "pmt-figure11", "Training loss by estimator", builder, tuple(ESTIMATORS), ESTIMATED, order, differences,
        measure=LOSS,
    )  # fmt: skip


def _scalings(builder: Builder, column: str, task: str) -> None:
    """Add the rows with each scaling: nodes, layer-wise."""
    request = builder.request
    blocks = request.block(request.curved)
    for row, (gns, qas) in SCALING.items():
        given = (*blocks, ("perturb", "node"), ("gns", gns), ("qas", qas), ("queries", request.queries))
        builder.row(column, row, (task,), TrainingSetup(given), task)


def _estimators(builder: Builder, column: str, task: str) -> None:
    """Add the rows of the estimators, with equal forward passes."""
    request = builder.request
    blocks = request.block(request.curved)
    each, total = _equal(request, len(request.layers(blocks)))
    for row, (perturb, wise) in ESTIMATORS.items():
        queries = each if wise == "layer" else total
        given = (*blocks, ("perturb", perturb), ("wise", wise), ("queries", queries))
        builder.row(column, row, (task,), TrainingSetup(given), task)


def _layers(request: PmtRequest) -> str:
    return ", ".join(request.layers(request.block(request.curved)))


def _passes(request: PmtRequest) -> str:
    each, total = _equal(request, len(request.layers(request.block(request.curved))))
    return (
        f"By estimator, a sample has {total} forward passes in a step: so many queries model-wise, "
        f"{each} for each layer layer-wise."
    )


def figure8(request: PmtRequest) -> Table:
    """Figure 8: cosine of the estimate and the slope by layer, against Q; and of each estimator (figure 5)."""
    builder, corruption = Builder(request), (request.corruptions or (DEFAULT,))[0]
    layers, counts = request.layers(()), _counts(request.queries)
    ways: dict[str, Given] = {f"Q={count}": (("perturb", "adaptive"), ("queries", count)) for count in counts}
    each, total = _equal(request, len(layers))
    for name, (perturb, wise) in ESTIMATORS.items():
        queries = each if wise == "layer" else total
        ways[name] = (("perturb", perturb), ("wise", wise), ("queries", queries))
    for row, given in ways.items():
        runs = tuple(
            GraphRun(
                request.set_of(corruption), "all", row, seed, 1, request.batch, request.network, PMT, given,
                eta=0.01, steps=1, compares=True,
            )
            for seed in range(1, request.seeds + 1)
        )  # fmt: skip
        builder.table_runs.update(dict.fromkeys(runs))
        for layer in layers:
            builder.cells[builder.data, layer, row] = runs
    claims = (
        *descending([f"Q={count}" for count in counts[::-1]]),
        ("layer-weight", "model-weight"),
        ("layer-node", "model-node"),
    )
    differences = (
        "The slope is that of the network in double precision, straight through every rounding, "
        "at the integer activations; compared are weights, not biases.",
        "Rows `Q=...` are adaptive and layer-wise, with so many queries for each layer; "
        f"the others have {total} forward passes a sample "
        f"in all: layer-wise {each} for each layer (figure 5).",
        f"One step of {request.batch} samples of {corruption}, by the pre-trained network.",
        NO_NUMBERS,
    )
    order = "more queries above fewer, layer-wise above model-wise"
    return table_of(
        "pmt-figure8", "Estimate and slope", builder, tuple(ways), claims, order, differences, measure=COSINE
    )


def figure9(request: PmtRequest) -> Table:
    """Figure 9: accuracy against forward passes, for several Q."""
    builder, corruption = Builder(request), (request.corruptions or (DEFAULT,))[0]
    blocks = request.block(request.curved)
    budget, counts = request.budget(len(request.layers(blocks))), _counts(request.queries)[1:]
    for count in counts:
        way = TrainingSetup((*blocks, ("queries", count)), budget=budget)
        builder.row(corruption, f"Q={count}", (corruption,), way, corruption)
    rows = tuple(f"Q={count}" for count in counts)
    differences = (
        f"Trained are {', '.join(request.layers(blocks))}; every row has {budget:,} forward passes, "
        "fewer queries make more steps.",
        "Forward passes are those with a perturbation, from the perturbed layer on, as the paper counts them; "
        "accuracy is that of the test images.",
        NO_NUMBERS,
    )
    axis = Axis(PASSES, budget / 1e6)
    order = "most queries above fewest (the paper: comparable, more queries marginally better)"
    return table_of(
        "pmt-figure9", "Forward passes", builder, rows, ((rows[-1], rows[0]),), order, differences, axis=axis
    )


def _equal(request: PmtRequest, layers: int) -> tuple[int, int]:
    """Return the queries per layer and for the model that give equal forward passes; a step has at most 127 queries."""
    each = max(min(request.queries, LIMITS["queries"][1] // layers), 1)
    return each, each * layers


def _counts(queries: int) -> tuple[int, ...]:
    """Return increasing numbers of queries up to --queries, in steps of about three."""
    return tuple(sorted({max(round(queries * share), 1) for share in SHARES}))
