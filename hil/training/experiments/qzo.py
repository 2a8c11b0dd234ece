"""Tables and figures of QZO-FF as runs, and its memory beside back-propagation (`papers/qzo.toml`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hil.errors import RigError
from hil.training.experiments.builder import Builder, ExperimentRequest
from hil.training.experiments.paper import Experiment, TrainingRow, paper
from hil.training.experiments.qzo_runs import BP, DRAWN_HEAD, OWN_HEAD, ROOM, QzoRun
from hil.training.experiments.run import Given
from hil.training.experiments.table import MemoryRow, PaperTable
from hil.training.graph.file import file_size
from hil.training.methods import find_method
from hil.training.networks import NETWORKS, build
from hil.training.networks.convert_w16a8 import W8, from_tflite8
from hil.training.networks.heads import MARGIN, PROTONETS, SIMPLESHOT
from hil.training.trial import TrialSpec

DIRECTIONS = 3  # m of the rows that do not say otherwise; the paper's value was lost
EPSILON = 1e-2  # of all rows that do not say otherwise: docs/qzo-ff.md, the choice of epsilon
SEVERITIES = {"easy": 1, "medium": 3, "hard": 5}
SUPPORT = 25  # images of a few-shot task: 5 classes, 5 shots
WARMUP = 20  # hundredths of the steps, of the change of domain
TEST_IMAGES = 500  # of the change of domain: training images that no run trains on
MEMORY_BATCH = 32  # the plans hold one sample at a time


def table(experiment: Experiment, request: ExperimentRequest) -> PaperTable:
    """Return a table or figure of the paper.

    Raises:
        RigError: a wrong request.
    """
    if not NETWORKS[request.network].committed or NETWORKS[request.network].converted:
        raise RigError(f"{request.network} has no pre-trained weights: choose lenet5-tflite or resnet-tiny.")
    builder, others = Builder(experiment, request), dict[str, Any]()
    if experiment.name == "qzo-few-shot":
        _few_shot(builder)
    elif experiment.name == "qzo-ood":
        _corrupted(builder)
    else:
        others = _ablation(builder)
    return builder.table(_facts(experiment, request), **others)


def _facts(experiment: Experiment, request: ExperimentRequest) -> dict[str, Any]:
    name, (data,) = experiment.name, request.data
    begins = ", ".join(f"{rate:g}" for rate in request.rates) or "the values of docs/qzo-ff.md"
    return {
        "network": request.network, "stands_for": paper("qzo").values["stands_for"][request.network], "data": data,
        "seen": " The backbone has seen its classes in pre-training." if "fashion" in data else "",
        "omniglot": name == "qzo-few-shot", "wake-words": name == "qzo-ablation", "rates": begins,
        "seeds": f"{request.seeds} seed{'s' if request.seeds > 1 else ''}",
        "images": name != "qzo-few-shot" and request.images,
        "one-rate": len(request.rates) == 1, "searched-rate": len(request.rates) != 1,
        "new-heads": name != "qzo-ood", "corrupted-heads": name == "qzo-ood", "margin": MARGIN, "room": ROOM,
        "corruptions": ", ".join(request.corruptions), "first": next(iter(request.corruptions), ""),
    }  # fmt: skip


def kept_images(request: ExperimentRequest) -> int:
    """Return how many training images remain while a rate is chosen.

    Raises:
        RigError: fewer than a batch, or none to hold out.
    """
    if request.images < 10:
        raise RigError(f"--images is {request.images}: give at least 10, of which two are held out.")
    kept = request.images - request.images // 5
    if request.batch > kept:
        raise RigError(
            f"a batch of {request.batch} is larger than the {kept} training images that remain while a rate is "
            "chosen: choose a smaller --batch, or more --images."
        )
    return kept


def _run(
    request: ExperimentRequest, column: str, name: str, row: TrainingRow, more: Given = (), head: str = OWN_HEAD
) -> QzoRun:
    """Return a run whose data, seed and rate are still to be filled in; forward gradients have m and epsilon.

    `more` is of the whole experiment; the settings of a row are before it.
    """
    first: dict[str, Any] = {} if row.method == BP else {"directions": DIRECTIONS, "epsilon": EPSILON}
    own = first | dict(row.settings)
    given = (*own.items(), *(pair for pair in more if pair[0] not in own))
    return QzoRun("", column, name, 1, request.epochs, request.batch, request.network, row.method, head, given)


def _adamw(request: ExperimentRequest, images: int, layers: int, warmup: int = 0) -> Given:
    """Return AdamW on the last layers, with a cosine over all steps, and a warm-up of so many hundredths of them.

    The paper's appendices C and D; the betas are the defaults.
    """
    steps = images // request.batch * request.epochs
    optimizer: Given = (("last_layers", layers), ("optimizer", "adamw"), ("eta_min", 1e-5))
    return (*optimizer, ("steps", steps), ("warmup", steps * warmup // 100))


def _few_shot(builder: Builder) -> None:
    """Add the cells of tables 2 and 4: held-out classes, by prototypes."""
    request, experiment = builder.request, builder.experiment
    for classifier in (PROTONETS, SIMPLESHOT):
        for name in experiment.trained:
            row = experiment.declared[name]
            run = _run(replace(request, batch=SUPPORT), classifier, name, row, head=classifier)
            run = replace(run, data=request.data[0], tasks=request.tasks)
            tried = replace(run, column=f"rate-{classifier}", split="val")
            rate = builder.rate(tried, request.rates or row.rates)
            builder.add((request.network, classifier, name), replace(run, **rate))
        builder.add_none(request.network, classifier)


def _corrupted(builder: Builder) -> None:
    """Add the cells of table 5: corruptions of three severities, with 1 and 3 trained layers."""
    request, experiment, kept = builder.request, builder.experiment, kept_images(builder.request)
    for count in (1, 3):
        data = f"{request.network}, {count} trained layer{'s' if count > 1 else ''}"
        for column, severity in SEVERITIES.items():
            sets = [f"fashion-mnist-1k+{name}-{severity}" for name in request.corruptions]
            for name in experiment.trained:
                row = experiment.declared[name]
                run, tried = (
                    _run(request, at, name, row, _adamw(request, images, count))
                    for at, images in ((f"{column}-{count}", request.images), (f"rate-{count}", kept))
                )
                tried = replace(tried, data=f"{sets[0]}@{kept}-{request.images - kept}")
                run = replace(run, **builder.rate(tried, request.rates or row.rates))
                builder.add((data, column, name), run, [f"{one}@{request.images}" for one in sets])
            builder.add_none(data, column)


def _ablation(builder: Builder) -> dict[str, Any]:
    """Add the cells of figures 2 and 5: a change of domain by linear probe; return the memory of figures 3 and 4."""
    request, experiment, kept = builder.request, builder.experiment, kept_images(builder.request)
    trained, not_run, (data,) = experiment.trained, dict[str, str](), request.data
    try:
        from_tflite8(build(request.network, 1), W8)
    except RigError as error:
        not_run["8w8a"] = f"{request.network} cannot have weights of 8 bits with one scale a tensor: {error}"
        trained = tuple(name for name in trained if not name.startswith("8w8a"))
    for name in trained:
        row = experiment.declared[name]
        run, tried = (
            _run(request, column, name, row, _adamw(request, images, 1, WARMUP), DRAWN_HEAD)
            for column, images in (("probe", request.images), ("rate", kept))
        )
        tried = replace(tried, data=f"{data}@{kept}-{request.images - kept}")
        run = replace(run, **builder.rate(tried, request.rates or row.rates))
        builder.add((data, "probe", name), run, (f"{data}@{request.images}-{TEST_IMAGES}",))
    builder.add_none(data, "probe")
    return {"memory": memory_rows(), "not_run": not_run, "rows": (experiment.rows[0], *trained, *not_run)}


@dataclass(frozen=True)
class PlannedMemory:
    """A row of the memory: what it is called, and what a trial needs to measure it."""

    network: str  # without its format
    title: str
    name: str  # of the network
    method: str
    variant: str
    settings: Mapping[str, Any]

    def row(self) -> MemoryRow:
        """Return its memory by plan."""
        graph = build(self.name, 1)
        method = find_method(self.method).on(graph, self.variant, batch=MEMORY_BATCH, **self.settings)
        weights = file_size(graph)
        return MemoryRow(
            self.network, self.title, {"weights": weights, "scratch": method.plan.memory(1).total - weights}
        )

    def trial(self, board: str) -> TrialSpec:
        """Return one step with the memory of the plan: a slot for one sample; `auto` puts the file in RAM."""
        return TrialSpec(
            board, self.variant, network=self.name, method=self.method, batch=2, slots=1, steps=1, evaluate=0,
            settings=dict(self.settings),
        )  # fmt: skip


def planned() -> tuple[PlannedMemory, ...]:
    """Return every row of the memory on every network (QZO-FF, figures 3 and 4)."""
    declared = paper("qzo").values["memory"]
    return tuple(
        PlannedMemory(
            network, title, names[row["format"]], row["method"],
            row["variant"] or find_method(row["method"]).default_variant, row.get("settings", {}),
        )
        for network, names in declared["networks"].items()
        for title, row in declared["rows"].items()
    )  # fmt: skip


def memory_rows() -> tuple[MemoryRow, ...]:
    """Return the memory of every row on every network, with the network file in RAM."""
    return tuple(one.row() for one in planned())
