"""Figures 4, 6, 7 and 8 of FQT and table IV as runs, and its memory by segment (`papers/fqt.toml`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from hil.errors import RigError
from hil.training.data import load
from hil.training.data.store import PARTS, data_folder, file_name, known_sets
from hil.training.data.user_files import find, user_sets
from hil.training.experiments.builder import Builder, ExperimentRequest
from hil.training.experiments.fqt_runs import FqtRun
from hil.training.experiments.graphs import GraphRun
from hil.training.experiments.paper import Column, Experiment, paper
from hil.training.experiments.table import MemoryRow, PaperTable
from hil.training.methods.fqt import Fqt
from hil.training.networks import NETWORKS, build
from hil.training.networks.tiny_training import SIDE
from hil.training.networks.tree import cure_of

CONFIGURATIONS = ("uint8", "mixed", "float32")
SHARES = (1.0, 0.5, 0.1)  # lambda_min of figures 6 and 8
EPOCHS, MCUNET_EPOCHS, BATCH, RATE, RUNS = 20, 50, 48, 0.001, 5  # of the paper
LAST_LAYERS = 5  # reset and retrained in transfer learning
SEARCH_SEEDS = 3
MCUNET, MCUNET_DATA = "mcunet-5fps", "fashion-mnist-1k"  # full sets have 10,000 test images: 0.5 GB at this size
LAST_TWO_BLOCKS = 7  # layers with weights: two bottlenecks of three, and the head
BASELINE = "baseline"  # the row of the network before the last layers were reset


def networks(kind: str) -> Mapping[str, str]:
    """Return the networks by data set: `reset` of transfer learning, `before` the reset, `full` training."""
    found: Mapping[str, str] = paper("fqt").values[kind]
    return found


def data_sets() -> tuple[str, ...]:
    """Return all data sets of the paper's experiments."""
    return tuple(dict.fromkeys((*networks("reset"), *networks("full"))))


def table(experiment: Experiment, request: ExperimentRequest) -> PaperTable:
    """Return a figure of the paper, or table IV.

    Raises:
        RigError: a wrong request, or files that are not there.
    """
    builder, others = Builder(experiment, request, min(SEARCH_SEEDS, request.seeds)), dict[str, Any]()
    if experiment.name == "fqt-table4":
        others["not_run"] = _last_two_blocks(builder)
    else:
        full = experiment.name == "fqt-figure7"
        known = networks("full" if full else "reset")
        sets, columns = _sets(experiment, request, known), _columns(experiment, request)
        for data, column in product(sets, columns):
            if BASELINE in experiment.rows and data in networks("before"):
                before, (name, _) = f"{networks('before')[data]}-float32", _parts(request, data)
                run = FqtRun(name, columns[0].title, BASELINE, 1, 0, request.batch, before, "float32", eta=RATE)
                builder.cells[data, column.title, BASELINE] = (run,)
            for row in (row for row in experiment.rows if row != BASELINE):
                _add(builder, data, column, row, f"{known[data]}-{experiment.declared[row].method}")
        if experiment.memory_parts:
            layers = {} if full else {"last_layers": LAST_LAYERS}
            others["memory"] = memory_rows({data: known[data] for data in sets}, layers)
    return builder.table(_facts(builder), **others)


def _columns(experiment: Experiment, request: ExperimentRequest) -> tuple[Column, ...]:
    """Return the requested readings of equation (8), or all."""
    return tuple(one for one in experiment.columns if one.kind in request.columns or not request.columns)


def _sets(experiment: Experiment, request: ExperimentRequest, known: Iterable[str]) -> tuple[str, ...]:
    """Return the requested data set, or all of `known` that need no files or whose files are there.

    Raises:
        RigError: the experiment does not have the requested one.
    """
    if not request.data:
        found = tuple(name for name in experiment.first_of or known if is_there(name))
        if "fashion-mnist" in found:
            found = tuple(name for name in found if name != "fashion-mnist-1k")  # a part of it
        return found[:1] if experiment.first_of else found
    (data,) = request.data
    if data not in known:
        has_not = f"--data names {data}, which this experiment does not have"
        raise RigError(f"{has_not}: choose of {', '.join(known)}.")
    return (data,)


def _parts(request: ExperimentRequest, name: str, size: str = "") -> tuple[str, str]:
    """Return the names of the training samples for the results, and of those for the choice of a rate.

    `size` is the ending of a data set whose images are resized: only those that are used are.

    Raises:
        RigError: fewer samples than a batch remain for a choice.
    """
    whole = len(load(name).train_images)
    used = min(request.images, whole)
    kept = used - used // 5
    if request.batch > kept:
        raise RigError(
            f"a batch of {request.batch} is larger than the {kept} training samples of {name} that remain while a "
            "rate is chosen: choose a smaller --batch, or more --images."
        )
    return (name if used == whole else f"{name}@{used}") + size, f"{name}@{kept}-{used // 5}{size}"


def is_there(name: str) -> bool:
    """Return whether a data set needs no files, or has them."""
    folder = data_folder() / name
    if name in user_sets():
        return all(find(folder, (file,)) for file in user_sets()[name].files)
    return name not in known_sets() or all((folder / file_name(part)).is_file() for part in PARTS)


def _add(builder: Builder, data: str, column: Column, row: str, network: str, size: str = "") -> None:
    """Add a cell: a run with every seed, its rate given or searched on held-out training samples."""
    request, declared = builder.request, builder.experiment.declared[row]
    name, held_out = _parts(request, data, size)
    given = (*declared.given, *column.settings.items())
    one = (name, column.title, row, 1, request.epochs, request.batch, network, declared.method, given)
    run: FqtRun | GraphRun = FqtRun(*one) if declared.method in CONFIGURATIONS else GraphRun(*one)
    tried = replace(run, data=held_out, column=f"rate-{column.title}")
    builder.add((data, column.title, row), replace(run, **builder.rate(tried, request.rates or declared.rates)))


def _last_two_blocks(builder: Builder) -> dict[str, str]:
    """Add the cells of table IV; return the rows that are not run."""
    not_run, column = dict[str, str](), Column("last-two-blocks", "last-two-blocks")
    if f"{MCUNET}-uint8" not in NETWORKS:
        raise RigError(f"fqt-table4 trains {MCUNET}, whose files are yours: {cure_of(MCUNET)}.")
    (data,), tflite8 = _sets(builder.experiment, builder.request, (MCUNET_DATA,)), f"{MCUNET}-int8"
    for row in builder.experiment.trained:
        method = builder.experiment.declared[row].method
        network = f"{MCUNET}-{method}" if method in CONFIGURATIONS else tflite8
        if network in NETWORKS:
            _add(builder, data, column, row, network, f"@{SIDE}x{SIDE}x3")
        else:
            not_run[row] = f"it trains {network}, and there is no network of that name."
    return not_run


def _facts(builder: Builder) -> dict[str, Any]:
    request = builder.request
    begins = f" begins with {', '.join(f'{rate:g}' for rate in request.rates)} and" if request.rates else ""
    return {
        "readings": not request.columns or "accumulated" in request.columns,
        "images": f"{request.images:,}", "fewer": request.epochs not in (EPOCHS, MCUNET_EPOCHS),
        "epochs": request.epochs, "batch": request.batch != BATCH and request.batch,
        "seeds": request.seeds != RUNS and f"{request.seeds} seed{'s' if request.seeds > 1 else ''}",
        "searched-rate": bool(builder.searches), "one-rate": not builder.searches, "begins": begins,
    }  # fmt: skip


def memory_rows(known: Mapping[str, str], settings: Mapping[str, Any]) -> tuple[MemoryRow, ...]:
    """Return the memory of every configuration of networks by data set, with the network file in flash (analytic)."""
    return tuple(
        MemoryRow(f"{network}, {data}", one, segments(f"{network}-{one}", one, settings))
        for data, network in known.items()
        for one in CONFIGURATIONS
    )


def segments(network: str, configuration: str, settings: Mapping[str, Any]) -> dict[str, int]:
    """Return the bytes of the three segments of figure 4, from the plan of the board."""
    facts = Fqt.on(build(network, 1), configuration, **settings).figures.analytic()
    parts: Sequence[tuple[str, str]] = (
        ("feature maps", "feature_maps"), ("weights and gradients", "trainable"), ("flash", "static")
    )  # fmt: skip
    return {part: facts[name] for part, name in parts}
