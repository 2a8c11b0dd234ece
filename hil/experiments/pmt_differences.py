"""Titles of the experiments of Poor Man's Training, and sentences on what differs from the paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hil.experiments.pmt_published import TITLES
from hil.experiments.pmt_runs import HELD_OUT, WITHOUT_QAS, AskedPmt, Builder
from hil.experiments.table import ACCURACY, COSINE, Claims, Measure, Table
from hil.networks import NETWORKS

PAPER_EPOCHS, PAPER_BATCH, PAPER_IMAGES, PAPER_QUERIES = 50, 100, 1000, 100  # PMT, section 4.1
DEFAULT, PASSES = (
    "gaussian-noise",
    "forward passes, millions",
)  # the corruption of figures and of tables 5 and 6; the title of an axis
NO_NUMBERS = "The paper prints a plot without numbers: what is compared is the order."
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


def common(asked: AskedPmt, adapts: bool) -> tuple[str, ...]:
    """Return the differences of every table; `adapts` is whether it trains rather than takes one step."""
    said = [
        f"{asked.network}, pre-trained on Fashion-MNIST, on corrupted images of {NETWORKS[asked.network].data} "
        "(docs/data.md), in the place of MCUNet, "
        "pre-trained on ImageNet and transferred to CIFAR-10, on CIFAR-10-C: the orders can be compared, "
        "the percentages cannot. "
        "Its pre-training has seen the training images uncorrupted.",
        f"{asked.images} training images in the place of {PAPER_IMAGES}." if asked.images != PAPER_IMAGES else "",
        f"{asked.epochs} epochs in the place of {PAPER_EPOCHS}." if adapts and asked.epochs != PAPER_EPOCHS else "",
        f"{asked.queries} queries in the place of {PAPER_QUERIES}." if asked.queries != PAPER_QUERIES else "",
        f"Gradients of {asked.batch} samples are accumulated in the place of {PAPER_BATCH}."
        if asked.batch != PAPER_BATCH
        else "",
        f"{asked.seeds} seeds; they decide the order of samples and the perturbations, not the pre-trained weights.",
        _rates(asked) if adapts else "",
        "The learning rate falls along half a cosine, epoch by epoch; the paper does not say whether it is by epochs "
        "or by steps."
        if adapts
        else "",
        "Perturbations are drawn for every sample, as on a board, where a row does not say otherwise; "
        "the paper simulates with one draw for the batch.",
        "QAS is by output channel, since scales are; perturbed nodes are those between the limits of the activation "
        "(docs/arithmetic-zeroth-order.md).",
    ]
    return tuple(sentence for sentence in said if sentence)


def _rates(asked: AskedPmt) -> str:
    rates = ", ".join(f"{rate:g}" for rate in asked.rates)
    if len(asked.rates) == 1:
        return (
            f"The learning rate is {rates}, without QAS {WITHOUT_QAS:,} times that, "
            "without GNS that times its least factor; it was not searched for."
        )
    return (
        f"Learning rates are searched row by row: the grid begins with {rates} (without QAS {WITHOUT_QAS:,} times "
        "these; where Poor Man's Training leaves "
        "GNS out, times its least factor), and grows until the best rate lies inside it, "
        "moves weights and is no worse than no training. "
        f"Every rate is trained with all seeds on the first {asked.kept} images; "
        f"the one of best mean accuracy on the {HELD_OUT} that follow is taken. "
        "The paper says 0.01, and for its figures that the best was chosen."
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
    **others: Any,
) -> Table:
    """Return the table of the runs that a builder has gathered.

    Args:
        name, rows, claims, order, measure, others: as of `Table`.
        title: of what is compared.
        builder: has the cells and the stages.
        differences: those that other tables have not.
        paper: published values by column and row.
    """
    asked = builder.asked
    return Table(
        name,
        f"{title}: {asked.network} on corrupted images ({name[4:-1]} {name[-1]} of Poor Man's Training)",
        builder.all_stages,
        builder.cells,
        rows,
        {(builder.data, column, row): value for (column, row), value in (paper or {}).items()},
        (*differences, *common(asked, measure is not COSINE)),
        measure=measure,
        claims=claims,
        order=order,
        titles=TITLES,
        searches=tuple(builder.searches.values()),
        choices=builder.choices,
        **others,
    )
