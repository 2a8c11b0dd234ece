"""Figures 4, 6, 7 and 8 of FQT and table IV as runs: the request, the runs of every cell, the paper's claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hil.errors import RigError
from hil.training.data import load
from hil.training.data.store import PARTS, data_folder, file_name, known_sets
from hil.training.data.user_files import find, user_sets
from hil.training.experiments.fqt_differences import FIGURE_4, FIGURE_6, FIGURE_7, TABLE_4, common
from hil.training.experiments.fqt_memory import PARTS as SEGMENTS
from hil.training.experiments.fqt_memory import memory_rows
from hil.training.experiments.fqt_published import (
    BATCH,
    CONFIGURATIONS,
    EPOCHS,
    LAST_LAYERS,
    MCUNET_EPOCHS,
    RATE,
    SHARES,
    TABLE4,
    TITLES,
)
from hil.training.experiments.fqt_runs import FqtRun
from hil.training.experiments.graphs import GraphRun
from hil.training.experiments.kinds import RatedRun, Run
from hil.training.experiments.rate_search import RateSearch, stem_of
from hil.training.experiments.run import Given
from hil.training.experiments.table import Cell, Table, Within
from hil.training.networks import NETWORKS
from hil.training.networks.tiny_training import SIDE
from hil.training.networks.tree import cure_of

RATES = (0.0003, RATE, 0.003)  # initial grid; the paper has the middle one
BASELINE_RATES = (0.003, 0.01, 0.03)  # of SGD-M and MCUTrain, as in Poor Man's Training
WITHOUT_QAS = 30_000  # rates of SGD-M without scaling are larger by about 1 / s_w^2 (pmt_runs.py)
SEARCH_SEEDS = 3
IMAGES = 2000  # training samples of each set, at most
LAST5: Given = (("last_layers", LAST_LAYERS),)
RESET: Mapping[str, str] = {  # networks of transfer learning by data set, in the order of the columns
    "vibration": "mbednet-reset-vibration",
    "watch": "mbednet-reset-watch",
    "fashion-mnist-1k": "mbednet-reset",
    "mnist": "mbednet-reset",
    "kmnist": "mbednet-reset",
    "emnist-letters": "mbednet-reset-letters",
}
BEFORE: Mapping[str, str] = {  # the networks before the reset, where they were trained on the data set itself
    "vibration": "mbednet-vibration",
    "watch": "mbednet-watch",
    "fashion-mnist-1k": "mbednet",
}
FULL: Mapping[str, str] = {  # networks of full training
    "fashion-mnist": "fqt-cnn",
    "fashion-mnist-1k": "fqt-cnn",
    "kmnist": "fqt-cnn",
    "emnist-letters": "fqt-cnn-letters",
    "emnist-digits": "fqt-cnn",
}
CURVED = ("emnist-letters", "fashion-mnist-1k")  # of figure 8: the first that is there
MCUNET, MCUNET_DATA = "mcunet-5fps", ("fashion-mnist-1k",)  # full sets have 10,000 test images: 0.5 GB at this size
LAST_TWO_BLOCKS = 7  # layers with weights: two bottlenecks of three, and the head


@dataclass(frozen=True)
class FqtRequest:
    """What the user requested; None: the experiment's own value."""

    data: str | None = None
    seeds: int = 5
    epochs: int | None = None
    batch: int = BATCH
    images: int = IMAGES
    rates: tuple[float, ...] | None = None

    def sets(self, known: Sequence[str]) -> tuple[str, ...]:
        """Return the requested data set, or all of `known` that need no files or whose files are there.

        Raises:
            RigError: the experiment does not have the requested one.
        """
        if self.data is None:
            return tuple(name for name in known if is_there(name))
        if self.data not in known:
            raise RigError(f"--data names {self.data}, which this experiment does not have: choose of {_list(known)}.")
        return (self.data,)

    def part(self, name: str, size: str = "") -> tuple[str, str]:
        """Return the names of the training samples for the results, and of those for the choice of a rate.

        `size` is the ending of a data set whose images are resized: only those that are used are.

        Raises:
            RigError: fewer samples than a batch remain for a choice.
        """
        whole = len(load(name).train_images)
        used = min(self.images, whole)
        kept = used - used // 5
        if self.batch > kept:
            raise RigError(
                f"a batch of {self.batch} is larger than the {kept} training samples of {name} that remain while a "
                "rate is chosen: choose a smaller --batch, or more --images."
            )
        return (name if used == whole else f"{name}@{used}") + size, f"{name}@{kept}-{used // 5}{size}"


def is_there(name: str) -> bool:
    """Return whether a data set needs no files, or has them."""
    folder = data_folder() / name
    if name in user_sets():
        return all(find(folder, (file,)) for file in user_sets()[name].files)
    return name not in known_sets() or all((folder / file_name(part)).is_file() for part in PARTS)


class Collector:
    """Collects the runs of a table: the searches of rates, then the runs of the cells."""

    def __init__(self, request: FqtRequest, epochs: int) -> None:
        self.request, self.epochs = request, request.epochs or epochs
        self.searches: dict[str, RateSearch[Any]] = {}
        self.cells: dict[Cell, tuple[Run, ...]] = {}

    def trained(
        self, data: str, column: str, row: str, network: str, configuration: str, given: Given, size: str = ""
    ) -> None:
        """Add a cell of FQT."""
        run = FqtRun(data, column, row, 1, self.epochs, self.request.batch, network, configuration, given)
        self.add((data, column, row), run, RATES, size)

    def add(self, cell: Cell, run: RatedRun, rates: Sequence[float], size: str = "") -> None:
        """Add a cell: a run with every seed, its rate given or searched on held-out training samples.

        `size` is the ending of a data set whose images are resized.
        """
        name, held_out = self.request.part(run.data, size)
        rates = self.request.rates or rates
        run = replace(run, data=name)
        if len(rates) == 1:
            run = replace(run, eta=rates[0])
        else:
            base = replace(run, data=held_out, column=f"rate-{cell[1]}")
            seeds = min(SEARCH_SEEDS, self.request.seeds)
            self.searches[stem_of(base)] = RateSearch(base, tuple(rates), seeds)
            stem: Any = stem_of(base) if isinstance(run, FqtRun) else (stem_of(base),)
            run = replace(run, rate_from=stem)
        self.cells[cell] = tuple(replace(run, seed=seed) for seed in range(1, self.request.seeds + 1))

    def before(self, data: str, column: str, network: str) -> None:
        """Add the cell of a network that is only evaluated."""
        name, _ = self.request.part(data)
        run = FqtRun(name, column, "baseline", 1, 0, self.request.batch, network, "float32", eta=RATE)
        self.cells[data, column, "baseline"] = (run,)

    def table(self, name: str, title: str, rows: Sequence[str], differences: Sequence[str], **others: Any) -> Table:
        """Return the table."""
        first = tuple(run for search in self.searches.values() for run in search.first_runs())
        then = tuple(dict.fromkeys(run for runs in self.cells.values() for run in runs))
        request, searched = self.request, bool(self.searches)
        said = common(request.seeds, self.epochs, request.batch, request.images, request.rates, searched)
        return Table(
            name, title, tuple(stage for stage in (first, then) if stage), self.cells, tuple(rows),
            others.pop("paper", {}), (*differences, *said), titles=TITLES, searches=tuple(self.searches.values()),
            choices=frozenset(run.name for run in first), **others,
        )  # fmt: skip


def figure4(request: FqtRequest) -> Table:
    """Figure 4: transfer learning of the last five layers in three configurations, and memory by segment."""
    collector, sets = Collector(request, EPOCHS), request.sets(tuple(RESET))
    for data in sets:
        if data in BEFORE:
            collector.before(data, "last5", f"{BEFORE[data]}-float32")
        for configuration in CONFIGURATIONS:
            collector.trained(data, "last5", configuration, f"{RESET[data]}-{configuration}", configuration, LAST5)
    return collector.table(
        "fqt-figure4", "Transfer learning by FQT (figure 4)", ("baseline", *CONFIGURATIONS), FIGURE_4,
        within=(Within("uint8", "float32", 2), Within("mixed", "float32", 1)),
        order="uint8 within 2 points of float32, mixed within 1",
        memory=memory_rows({data: RESET[data] for data in sets}, dict(LAST5)), memory_parts=SEGMENTS,
    )  # fmt: skip


def figure6(request: FqtRequest) -> Table:
    """Figure 6: three lambda_min in each configuration, and what the backward pass costs with each."""
    collector = Collector(request, EPOCHS)
    rows = [
        (f"{configuration}-{share:g}", configuration, share) for configuration in CONFIGURATIONS for share in SHARES
    ]
    for data in request.sets(tuple(RESET)):
        for row, configuration, share in rows:
            network = f"{RESET[data]}-{configuration}"
            collector.trained(data, "last5", row, network, configuration, _sparse(share))
    within = [Within(f"{one}-{share:g}", f"{one}-1", 1) for one in ("mixed", "float32") for share in (0.5, 0.1)]
    return collector.table(
        "fqt-figure6", "Dynamic sparse gradient updates (figure 6)", [row for row, _, _ in rows], FIGURE_6,
        claims=(("uint8-1", "uint8-0.1"),), within=(*within, Within("uint8-0.5", "uint8-1", 2)),
        order="lambda_min 0.5 and 0.1 within 1 point of all channels in mixed and float32, 0.5 within 2 in uint8, "
        "0.1 below all channels in uint8",
        all_channels={row: f"{configuration}-1" for row, configuration, share in rows if share < 1},
    )  # fmt: skip


def figure7(request: FqtRequest) -> Table:
    """Figure 7: all layers of a small network, from drawn weights."""
    collector = Collector(request, EPOCHS)
    known = tuple(FULL)
    sets = request.sets(known)
    if request.data is None and "fashion-mnist" in sets:
        sets = tuple(name for name in sets if name != "fashion-mnist-1k")  # a part of it
    for data in sets:
        for configuration in CONFIGURATIONS:
            collector.trained(data, "all", configuration, f"{FULL[data]}-{configuration}", configuration, ())
    return collector.table(
        "fqt-figure7", "Full training by FQT (figure 7)", CONFIGURATIONS, FIGURE_7,
        claims=(("float32", "mixed"), ("mixed", "uint8")), order="float32 above mixed above uint8",
        memory=memory_rows({data: FULL[data] for data in sets}, {}), memory_parts=SEGMENTS,
    )  # fmt: skip


def figure8(request: FqtRequest) -> Table:
    """Figure 8: accuracy and loss by epoch for three lambda_min, in `mixed`."""
    collector = Collector(request, EPOCHS)
    data = request.data or next(name for name in CURVED if is_there(name))
    rows = [f"mixed-{share:g}" for share in SHARES]
    for row, share in zip(rows, SHARES, strict=True):
        (name,) = replace(request, data=data).sets(tuple(RESET))
        collector.trained(name, "last5", row, f"{RESET[name]}-mixed", "mixed", _sparse(share))
    return collector.table(
        "fqt-figure8", "Learning curves of sparse updates (figure 8)", rows, FIGURE_6,
        within=tuple(Within(row, "mixed-1", 1) for row in rows[1:]),
        order="lambda_min 0.5 and 0.1 within 1 point of all channels", loss_charts={"last5": "figure 8"},
        all_channels=dict.fromkeys(rows[1:], rows[0]),
    )  # fmt: skip


def table4(request: FqtRequest) -> Table:
    """Table IV: the last two blocks of MCUNet-5FPS, beside SGD-M in int8 and MCUTrain."""
    if f"{MCUNET}-uint8" not in NETWORKS:
        raise RigError(f"fqt-table4 trains {MCUNET}, whose files are yours: {cure_of(MCUNET)}.")
    collector, column = Collector(request, MCUNET_EPOCHS), "last-two-blocks"
    baselines = {"sgd-m-int8": ("int8-bp", 0, WITHOUT_QAS), "mcutrain": ("mcutrain", 1, 1)}
    not_run = {"sgd-m-fp32": "there is no SGD with momentum in floats here."}
    tflite8 = f"{MCUNET}-int8"
    if tflite8 not in NETWORKS:
        not_run |= dict.fromkeys(baselines, f"they train networks in tflite8, and there is no {tflite8}.")
    for name in request.sets(MCUNET_DATA):
        size, given = f"@{SIDE}x{SIDE}x3", (("last_layers", LAST_TWO_BLOCKS),)
        collector.trained(name, column, "uint8", f"{MCUNET}-uint8", "uint8", given, size)
        for row, (method, qas, factor) in baselines.items() if tflite8 in NETWORKS else ():
            settings: Given = (("blocks", 8), ("train", "all"), ("momentum", 0.9), ("qas", qas))
            run = GraphRun(name, column, row, 1, collector.epochs, request.batch, tflite8, method, settings)
            rates = [float(f"{rate * factor:.2g}") for rate in BASELINE_RATES]
            collector.add((name, column, row), run, rates, size)
    return collector.table(
        "fqt-table4", "MCUNet-5FPS, the last two blocks (table IV)", tuple(TABLE4), TABLE_4,
        claims=(("uint8", "sgd-m-int8"), ("mcutrain", "sgd-m-int8")),
        within=(Within("uint8", "mcutrain", 1),), not_run=not_run,
        order="FQT above SGD-M in int8 and within 1 point of MCUTrain (the paper's means: 73.7, 64.9, 73.5)",
    )  # fmt: skip


FQT_TABLES: Mapping[str, Callable[[FqtRequest], Table]] = {
    "fqt-figure4": figure4,
    "fqt-figure6": figure6,
    "fqt-figure7": figure7,
    "fqt-figure8": figure8,
    "fqt-table4": table4,
}
FQT_DATA = tuple(dict.fromkeys((*RESET, *FULL)))


def _sparse(share: float) -> Given:
    return LAST5 if share == 1 else (*LAST5, ("lambda_min", share))


def _list(names: Sequence[str]) -> str:
    return ", ".join(names)
