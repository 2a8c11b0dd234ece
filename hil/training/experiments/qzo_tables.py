"""Tables and figures of QZO-FF as runs: few-shot learning, corruptions, and the ablation on a change of domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from hil.errors import RigError
from hil.training.experiments.qzo_builder import (
    EPSILON,
    PAPER_EPSILON,
    Builder,
    QzoRequest,
    Row,
    adamw,
    base_run,
    layers,
)
from hil.training.experiments.qzo_differences import ABLATION, FEW_SHOT, OOD, common
from hil.training.experiments.qzo_memory import PARTS, memory_rows
from hil.training.experiments.qzo_published import CORRUPTED, OMNIGLOT, SEVERITIES, TITLES
from hil.training.experiments.qzo_runs import BP, DRAWN_HEAD, FP32
from hil.training.experiments.table import Claims, Table
from hil.training.networks import build
from hil.training.networks.convert_w16a8 import W8, from_tflite8
from hil.training.networks.heads import PROTONETS, SIMPLESHOT

ALL = 64  # last layers: all that there are
SGD = (1e-4, 1e-3, 1e-2)  # initial rates; the paper's are 1e-3, 1e-4 and 1e-5 for both
SGD_BP = (1e-3, 1e-2, 1e-1)  # gradients of back-propagation are smaller than a signed direction
BY_ADAMW = (1e-4, 1e-3, 1e-2)  # the paper: 5e-3 and 1e-3, 1e-4 to 1e-5 for corruptions
FEW_SHOT_EPOCHS, EPOCHS, WARMUP, BATCH = 40, 100, 20, 50
OOD_CORRUPTIONS = ("gaussian-noise", "motion-blur", "fog", "contrast")  # one of each family
TEST_IMAGES = 500  # of the change of domain: training images that no run trains on


def few_shot(request: QzoRequest) -> Table:
    """Tables 2 and 4: 5 classes, 5 shots, held-out classes, by prototypes."""
    builder = Builder(request)
    epochs = request.epochs or FEW_SHOT_EPOCHS
    rows: dict[str, Row] = {}
    for name, count in (("full", ALL), ("last3", 3), ("probe", 1)):
        rows[f"bp-{name}"] = Row.of(BP, SGD_BP, layers(count))
        rows[f"ff-{name}"] = Row.of(FP32, SGD, layers(count))
        rows[f"ff-{name}-16w8a"] = Row.of("16w8a", SGD, layers(count))
    for classifier in (PROTONETS, SIMPLESHOT):
        for name, row in rows.items():
            run = base_run(request, classifier, name, epochs, 25, classifier)
            run = replace(run, data=request.data, tasks=request.tasks)
            tried = replace(run, column=f"rate-{classifier}", split="val")
            builder.add((request.network, classifier, name), run, row, tried, (request.data,))
        builder.cells[request.network, classifier, "none"] = builder.cells[request.network, classifier, "ff-probe"]
    claims: Claims = (
        ("bp-full", "ff-full"), ("bp-probe", "ff-probe"),
        ("ff-full", "none"), ("ff-probe", "none"), ("ff-probe", "ff-probe-16w8a"),
    )  # fmt: skip
    paper = {(request.network, PROTONETS, row): value for row, value in OMNIGLOT[request.network].items()}
    order = "BP above FF, FF above no training, FF above FF with 16w8a"
    names = ("none", *sorted(rows, key=lambda name: ("full", "last3", "probe").index(name.split("-")[1])))
    title = "Few-shot learning: tasks of 5 classes and 5 shots (tables 2 and 4 of QZO-FF)"
    return _table("qzo-few-shot", title, builder, names, claims, order, FEW_SHOT, paper)


def ood(request: QzoRequest) -> Table:
    """Table 5: corruptions of three severities, with 1 and 3 trained layers."""
    builder = Builder(request)
    epochs, batch = request.epochs or EPOCHS, request.batch_of(BATCH)
    corruptions = request.corruptions or OOD_CORRUPTIONS
    rows = {
        "bp": Row.of(BP, BY_ADAMW),
        "ff": Row.of(FP32, BY_ADAMW),
        "ff-sparse": Row.of(FP32, BY_ADAMW, ("sparse", "top")),
        "ff-16w8a": Row.of("16w8a", BY_ADAMW),
    }
    paper: dict[tuple[str, str, str], float] = {}
    for count in CORRUPTED:
        data = f"{request.network}, {count} trained layer{'s' if count > 1 else ''}"
        for column, severity in SEVERITIES.items():
            sets = [f"fashion-mnist-1k+{name}-{severity}" for name in corruptions]
            for name, row in rows.items():
                run = base_run(request, f"{column}-{count}", name, epochs, batch)
                whole, kept = (
                    replace(run, given=(layers(count), *adamw(images, batch, epochs)))
                    for images in (request.images, request.kept)
                )
                held = f"{sets[0]}@{request.kept}-{request.images - request.kept}"
                tried = replace(kept, data=held, column=f"rate-{count}")
                builder.add((data, column, name), whole, row, tried, [f"{one}@{request.images}" for one in sets])
            builder.cells[data, column, "none"] = builder.cells[data, column, "ff"]
            paper |= {(data, column, name): values[column] for name, values in CORRUPTED[count].items()}
    claims: Claims = (("bp", "ff"), ("ff", "none"), ("ff-16w8a", "none"), ("ff", "ff-16w8a"))
    order = "BP above FF, FF above FF with 16w8a, both above no training"
    first = (f"Corruptions: {', '.join(corruptions)}; the rate of a row and severity is chosen on {corruptions[0]}.",)
    title = "Adaptation to corruptions (table 5 of QZO-FF)"
    return _table("qzo-ood", title, builder, ("none", *rows), claims, order, (*first, *OOD), paper)


def ablation(request: QzoRequest) -> Table:
    """Figures 2 and 5: a change of domain by linear probe; figures 3 and 4 by plan."""
    builder = Builder(request)
    epochs, batch = request.epochs or EPOCHS, request.batch_of(BATCH)
    integers: Mapping[str, tuple[tuple[str, int | float | str], ...]] = {
        "16w8a-m1": (("directions", 1),),
        "16w8a": (),
        "16w8a-m10": (("directions", 10),),
        "binomial": (("distribution", "binomial"),),
        "16w8a-paper-epsilon": (("epsilon", PAPER_EPSILON),),
        "sharpness": (("rho", EPSILON),),
        "normalised": (("normalise", 1),),
        "both": (("rho", EPSILON), ("normalise", 1)),
    }
    rows = {
        "bp": Row.of(BP, BY_ADAMW),
        "ff-m1": Row.of(FP32, BY_ADAMW, ("directions", 1)),
        "ff": Row.of(FP32, BY_ADAMW),
        "ff-m10": Row.of(FP32, BY_ADAMW, ("directions", 10)),
        **{name: Row.of("16w8a", BY_ADAMW, *given) for name, given in integers.items()},
    }
    not_run = {}
    try:
        from_tflite8(build(request.network, 1), W8)
        rows["8w8a"] = Row.of("8w8a", BY_ADAMW, ("epsilon", PAPER_EPSILON))
        rows["8w8a-large-epsilon"] = Row.of("8w8a", BY_ADAMW)
    except RigError as error:
        not_run["8w8a"] = f"{request.network} cannot have weights of 8 bits with one scale a tensor: {error}"
    for name, row in rows.items():
        run = base_run(request, "probe", name, epochs, batch, DRAWN_HEAD)
        whole, kept = (
            replace(run, given=(layers(1), *adamw(images, batch, epochs, WARMUP)))
            for images in (request.images, request.kept)
        )
        held = f"{request.data}@{request.kept}-{request.images - request.kept}"
        data = f"{request.data}@{request.images}-{TEST_IMAGES}"
        builder.add((request.data, "probe", name), whole, row, replace(kept, data=held, column="rate"), (data,))
    builder.cells[request.data, "probe", "none"] = builder.cells[request.data, "probe", "16w8a"]
    claims: Claims = (
        ("bp", "ff"), ("ff", "ff-m1"), ("ff-m10", "ff"), ("16w8a", "none"), ("16w8a", "16w8a-m1"),
        ("16w8a-m10", "16w8a"), ("16w8a", "8w8a"), ("both", "16w8a"),
    )  # fmt: skip
    order = "BP above FF, more directions better, 16w8a above 8w8a, sharpness-aware and normalised above neither"
    names = ("none", *rows, *not_run)
    title = "A change of domain by linear probe (figures 2 and 5 of QZO-FF)"
    others = {"memory": memory_rows(), "memory_parts": PARTS, "not_run": not_run}
    return _table("qzo-ablation", title, builder, names, claims, order, ABLATION, {}, **others)


QZO_TABLES: Mapping[str, Callable[[QzoRequest], Table]] = {
    "qzo-few-shot": few_shot,
    "qzo-ood": ood,
    "qzo-ablation": ablation,
}


def _table(
    name: str,
    title: str,
    builder: Builder,
    rows: tuple[str, ...],
    claims: Claims,
    order: str,
    differences: tuple[str, ...],
    paper: Mapping[tuple[str, str, str], float],
    **others: Any,
) -> Table:
    return Table(
        name,
        title,
        builder.stages,
        builder.cells,
        rows,
        paper,
        (*differences, *common(builder.request, name)),
        claims=claims,
        order=order,
        titles=TITLES,
        searches=tuple(builder.searches.values()),
        choices=builder.choices,
        **others,
    )
