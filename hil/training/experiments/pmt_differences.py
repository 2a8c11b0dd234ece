"""Titles of the experiments of Poor Man's Training, and sentences on what differs from the paper."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hil.training.experiments.pmt_published import TITLES
from hil.training.experiments.pmt_runs import FP32, WITHOUT_QAS, Builder, PmtRequest
from hil.training.experiments.table import ACCURACY, COSINE, Claims, Measure, Table

PAPER_BATCH, PAPER_IMAGES, PAPER_QUERIES = 100, 1000, 100  # PMT, section 4.1
DEFAULT = "gaussian-noise"  # corruption of the figures and of tables 5 and 6
PASSES = "forward passes, millions"  # title of an axis
NO_NUMBERS = "The paper prints a plot without numbers: what is compared is the order."
FLOATS = (
    "BP in FP32 has plain steps on the real numbers of the pre-trained int8 network, through all layers; its rate "
    "falls step by step. It runs on the host only (docs/qzo-ff.md), so no board repeats it."
)
SAME_RATE = (
    "The learning rate of a row is chosen on {} and taken for all columns and seeds; "
    "a chosen block has the rate of this block."
)
EQUAL_PASSES = (
    "The paper gives so many to MeZO and itself (2.00e7) and five to 120 times as many to DeepZero, "
    "at its own number of epochs; "
    "DeepZero's batch is made smaller, block by block, where its steps would be fewer than ten, "
    "and its rate does not fall."
)


def common(request: PmtRequest, adapts: bool) -> tuple[str, ...]:
    """Return the differences of every table; `adapts`: whether it trains, rather than makes one step."""
    sentences = [
        request.stands_in(),
        f"{request.used} training images in the place of {PAPER_IMAGES}." if request.used != PAPER_IMAGES else "",
        f"{request.epochs} epochs in the place of {request.paper_epochs}."
        if adapts and request.epochs != request.paper_epochs
        else "",
        f"{request.queries} queries in the place of {PAPER_QUERIES}." if request.queries != PAPER_QUERIES else "",
        f"Gradients of {request.batch} samples are accumulated in the place of {PAPER_BATCH}."
        if request.batch != PAPER_BATCH
        else "",
        f"{request.seeds} seeds; they decide the order of samples and the perturbations{request.drawn}, not the "
        "pre-trained weights.",
        _rates(request) if adapts else "",
        "The learning rate falls along half a cosine, epoch by epoch; the paper does not say whether it is by epochs "
        "or by steps."
        if adapts
        else "",
        "Perturbations are drawn for every sample, as on a board, where a row does not say otherwise; "
        "the paper simulates with one draw for the batch.",
        "QAS is by output channel, since scales are; perturbed nodes are those between the limits of the activation "
        "(docs/arithmetic-zeroth-order.md).",
    ]
    return tuple(sentence for sentence in sentences if sentence)


def _rates(request: PmtRequest) -> str:
    rates = ", ".join(f"{rate:g}" for rate in request.rates)
    if len(request.rates) == 1:
        return (
            f"The learning rate is {rates}, without QAS {WITHOUT_QAS:,} times that, "
            "without GNS that times its least factor; it was not searched for."
        )
    epochs = (
        "" if request.searched == request.epochs else f" for {request.searched} epoch{'s' * (request.searched > 1)}"
    )
    return (
        f"Learning rates are searched row by row: the grid begins with {rates} (without QAS {WITHOUT_QAS:,} times "
        "these; where Poor Man's Training leaves "
        "GNS out, times its least factor), and grows until the best rate lies inside it, "
        "moves weights and is no worse than no training. "
        f"Every rate is trained{epochs} with all seeds on the first {request.kept} images; "
        f"the one of best mean accuracy on the {request.held} that follow is taken. "
        f"The paper says {request.paper_rate}."
    )


def table_of(
    name: str,
    title: str,
    builder: Builder,
    rows: tuple[str, ...],
    claims: Claims,
    order: str,
    differences: tuple[str, ...],
    paper: Mapping[tuple[str, str], float] | None = None,
    measure: Measure = ACCURACY,
    titles: Mapping[str, str] | None = None,
    **others: Any,
) -> Table:
    """Return the table of the runs in a builder; `differences` are those of this table alone."""
    request = builder.request
    kind, number = re.findall("[a-z]+|[0-9]+", name)[1:]
    if any(row == FP32 for _, _, row in builder.cells):
        differences = (*differences, FLOATS)
    return Table(
        name,
        f"{title}: {request.network} {request.on} ({kind} {number} of Poor Man's Training)",
        builder.all_stages,
        builder.cells,
        rows,
        {(builder.data, column, row): value for (column, row), value in (paper or {}).items()},
        (*differences, *common(request, measure is not COSINE)),
        measure=measure,
        claims=claims,
        order=order,
        titles={**TITLES, **(titles or {})},
        searches=tuple(builder.searches.values()),
        choices=builder.choices,
        **others,
    )
