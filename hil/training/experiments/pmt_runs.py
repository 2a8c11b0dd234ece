"""Runs of Poor Man's Training: how rows train, and how learning rates and blocks are chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from hil.errors import RigError
from hil.training.experiments.graphs import GraphRun
from hil.training.experiments.kinds import Run
from hil.training.experiments.qzo_runs import BP, QzoRun
from hil.training.experiments.rate_search import RateSearch, stem_of
from hil.training.experiments.run import Given
from hil.training.experiments.table import Cell
from hil.training.graph.graph import Op
from hil.training.methods import graph_method
from hil.training.methods.graph_settings import LIMITS, GraphSettings
from hil.training.networks import NETWORKS, build, find_network

SEVERITY = 5
BLOCKS = {f"block{block}": 1 << (block - 1) for block in (1, 2, 3, 4)}
TRAINING_IMAGES = 1000  # in the data sets of the networks
HELD_OUT = 200  # of these, for a choice: a standard error of at most 3.5 points
WITHOUT_QAS = 30_000  # rates without quantization-aware scaling are larger by about 1 / s_w^2, which it divides by
PMT, RATES = "poor-mans-training", (0.003, 0.01, 0.03, 0.1)
FP32 = "bp-fp32"  # the row of back-propagation in floats
# Blocks of the figures, as masks. The paper trains four pointwise layers, two of them with more nodes than weights.
# resnet-tiny has four in blocks 1 and 2, three of them with more nodes; all five layers of lenet5-tflite are
# trained, two of them with more nodes.
CURVED = {"resnet-tiny": 3, "lenet5-tflite": 15}


@dataclass(frozen=True)
class PmtRequest:
    """What the user requested."""

    network: str = "resnet-tiny"  # pre-trained
    corruptions: tuple[str, ...] | None = None  # of severity 5; None for those of the table
    seeds: int = 3
    epochs: int = 50  # of an adaptation
    batch: int = 100  # samples whose gradients are accumulated for a step (the paper's N)
    images: int = 1000  # for training; for the choice of a rate or a block, 200 of them are held out
    queries: int = 100  # for each layer (the paper's Q)
    rates: tuple[float, ...] = RATES  # initial learning rates of the searched grids; a single one is not searched for
    paper_epochs: int = 50
    search_epochs: int | None = None  # of the runs that search a rate; None: `epochs`
    drawn: ClassVar[str] = ""  # what else seeds decide, in words
    paper_rate: ClassVar[str] = "0.01, and for its figures that the best was chosen"

    def __post_init__(self) -> None:
        self.check_network()
        if self.batch > self.kept:
            remain = f"the {self.kept} training images that remain while something is chosen"
            cure = "choose a smaller --batch, or more --images"
            raise RigError(f"a batch of {self.batch} is larger than {remain}: {cure}.")
        if self.queries > LIMITS["queries"][1]:
            raise RigError(f"--queries is {self.queries}: a step has {LIMITS['queries'][1]} at most.")

    def check_network(self) -> None:
        """Raise RigError for a network that was not trained on the images that are corrupted."""
        if not find_network(self.network).committed:
            raise RigError(f"{self.network} was not trained on Fashion-MNIST: choose {' or '.join(CURVED)}.")

    def stands_in(self) -> str:
        """Return what network and data stand in for, in words."""
        return (
            f"{self.network}, pre-trained on Fashion-MNIST, on corrupted images of {NETWORKS[self.network].data} "
            "(docs/data.md), in the place of MCUNet, pre-trained on ImageNet and transferred to CIFAR-10, on "
            "CIFAR-10-C: the orders can be compared, the percentages cannot. Its pre-training has seen the training "
            "images uncorrupted."
        )

    @property
    def on(self) -> str:
        """What the network is adapted to, in words."""
        return "on corrupted images"

    def tasks(self, default: Sequence[str]) -> Sequence[str]:
        """Return the corruptions, `default` if the user named none."""
        return self.corruptions or default

    @property
    def curved(self) -> int:
        """The blocks that the figures train, as a mask."""
        return CURVED[self.network]

    @property
    def used(self) -> int:
        """Number of training images of a run of the table."""
        return self.images

    @property
    def kept(self) -> int:
        """Number of training images that remain while something is chosen."""
        return min(self.images, TRAINING_IMAGES - self.held)

    @property
    def held(self) -> int:
        """Number of training images that are held out while something is chosen."""
        return HELD_OUT

    @property
    def searched(self) -> int:
        """Epochs of a run that searches a rate."""
        return self.search_epochs or self.epochs

    def set_of(self, corruption: str) -> str:
        """Return the data set for an adaptation."""
        return f"{NETWORKS[self.network].data}+{corruption}-{SEVERITY}@{self.images}"

    def held_out(self, corruption: str) -> str:
        """Return the data set for a choice."""
        return f"{NETWORKS[self.network].data}+{corruption}-{SEVERITY}@{self.kept}-{self.held}"

    def budget(self, layers: int) -> int:
        """Return the number of perturbed forward passes of an adaptation with all queries for this many layers."""
        return self.epochs * (self.images // self.batch) * self.batch * layers * self.queries

    def block(self, mask: int) -> Given:
        """Return the settings that train blocks: their pointwise layers, or all layers of a network without any."""
        graph = build(self.network, 1)
        pointwise = any(layer.op is Op.POINTWISE for layer in graph.layers)
        return (("train", "pointwise" if pointwise else "all"), ("blocks", mask))

    def layers(self, given: Given) -> tuple[str, ...]:
        """Return the names of the trained layers."""
        graph = build(self.network, 1)
        settings = default_settings(PMT, given)
        return tuple(graph.layers[index].name for index in settings.trained(graph))


def default_settings(method: str, given: Given) -> GraphSettings:
    """Return the settings of a method's default variant, with these changes."""
    kind = graph_method(method)
    return kind.settings_of(kind.default_variant, **dict(given))


@dataclass(frozen=True)
class TrainingSetup:
    """How a row trains; fields as of `GraphRun`."""

    given: Given
    method: str = PMT
    budget: int | None = None
    fewest_steps: int = 0
    epochs: int | None = None  # None: as the user chose

    def in_block(self, request: PmtRequest, mask: int) -> TrainingSetup:
        """Return the same training in one block."""
        return replace(self, given=tuple((dict(self.given) | dict(request.block(mask))).items()))

    def rates(self, request: PmtRequest) -> tuple[float, ...]:
        """Return the initial rates of a search: the user's, times the factors of the scalings that the row omits."""
        settings = default_settings(self.method, self.given)
        factor = 1.0 if settings.qas else WITHOUT_QAS
        if self.method == PMT and not settings.gns:
            factor *= _gns(request.network, settings, request.batch)
        return tuple(float(f"{rate * factor:.2g}") for rate in request.rates)


def _gns(network: str, settings: GraphSettings, samples: int) -> float:
    """Return the least factor of gradient-norm scaling of a layer, or of the model.

    See docs/arithmetic-zeroth-order.md, section 6.
    """
    graph = build(network, 1)
    layers = [graph.layers[index] for index in settings.trained(graph)]
    drawn = [layer.out_size if settings.by_nodes(layer) else layer.weight_count + layer.channels for layer in layers]
    total = samples * settings.queries
    return total / (total + (sum(drawn) if settings.wise == "model" else max(drawn)) - 1)


class Builder:
    """Collects the runs of a table, stage by stage.

    Args:
        request: what the user requested.
        budget: perturbed forward passes of every run except the test trainings; None: the number of epochs decides.

    Tasks are the names that `PmtRequest.set_of` takes: corruptions, or the one data set of a transfer.
    """

    def __init__(self, request: PmtRequest, budget: int | None = None) -> None:
        self.request, self.budget = request, budget
        self.data = request.network  # title above a column
        self.searches: dict[str, RateSearch[Any]] = {}  # of learning rates, by the beginning of their runs' names
        self.tests: dict[GraphRun, None] = {}  # test trainings of the blocks
        self.table_runs: dict[Run, None] = {}  # the runs of the table itself
        self.cells: dict[Cell, tuple[Run, ...]] = {}

    @property
    def choices(self) -> frozenset[str]:
        """Names of the runs from which others choose."""
        return frozenset(run.name for run in (*self._first(), *self.tests))

    @property
    def all_stages(self) -> tuple[tuple[Run, ...], ...]:
        """The stages that have runs: initial rates, test trainings of the blocks, the table."""
        return tuple(stage for stage in (self._first(), tuple(self.tests), tuple(self.table_runs)) if stage)

    def row(
        self, column: str, row: str, tasks: Sequence[str], way: TrainingSetup, tuned_on: str, chosen: bool = False
    ) -> None:
        """Add the cell of a row: the mean over tasks and seeds, with the rate that is best on `tuned_on`.

        If the block is chosen, it is the one that Poor Man's Training improves most in one epoch, and each block has
        its own rate.
        """
        if chosen:
            labels = BLOCKS if way.method == PMT else {f"{row}-{name}": mask for name, mask in BLOCKS.items()}
            rates = self._tune({label: way.in_block(self.request, mask) for label, mask in labels.items()}, tuned_on)
        else:
            rates = self._tune({row: way}, tuned_on)
        runs = []
        for task in tasks:
            for seed in range(1, self.request.seeds + 1):
                blocks = self._test(task, seed, tuned_on) if chosen else ()
                run = self._run(self.request.set_of(task), column, row, seed, way)
                runs.append(replace(run, blocks_from=blocks, **rates))
        self.table_runs.update(dict.fromkeys(runs))
        self.cells[self.data, column, row] = tuple(runs)

    def float_row(self, column: str, row: str, tasks: Sequence[str], tuned_on: str) -> None:
        """Add the cell of back-propagation through all layers in floats, by plain steps, as `row` does."""
        request = self.request
        base = QzoRun("", column, row, 1, request.epochs, request.batch, request.network, BP)
        chosen: dict[str, Any] = {"eta": request.rates[0]}
        if len(request.rates) > 1:
            given = self._in_floats(request.kept, request.searched)
            tried = replace(base, data=request.held_out(tuned_on), column="rate", epochs=request.searched, given=given)
            chosen = {"rate_from": stem_of(tried)}
            self.searches.setdefault(stem_of(tried), RateSearch(tried, request.rates, request.seeds))
        base = replace(base, given=self._in_floats(request.used, request.epochs), **chosen)
        seeds = range(1, request.seeds + 1)
        runs = tuple(replace(base, data=request.set_of(task), seed=seed) for task in tasks for seed in seeds)
        self.table_runs.update(dict.fromkeys(runs))
        self.cells[self.data, column, row] = runs

    def _in_floats(self, images: int, epochs: int) -> Given:
        """Return the settings of plain steps whose rate falls along half a cosine."""
        return (("train_bias", 1), ("steps", images // self.request.batch * epochs))

    def block(self, mask: int) -> TrainingSetup:
        """Return the training of some blocks by Poor Man's Training."""
        return TrainingSetup((*self.request.block(mask), ("queries", self.request.queries)), budget=self.budget)

    def _first(self) -> tuple[Run, ...]:
        return tuple(run for search in self.searches.values() for run in search.first_runs())

    def _tune(self, ways: Mapping[str, TrainingSetup], task: str) -> Mapping[str, Any]:
        """Return the fields of a run that define its learning rate; `ways` has one way, or one per block."""
        given = [way.rates(self.request) for way in ways.values()]
        if all(len(rates) == 1 for rates in given):
            return {"eta": given[0][0]}
        stems = []
        for (label, way), rates in zip(ways.items(), given, strict=True):
            way = replace(way, epochs=way.epochs or self.request.search_epochs)
            base = self._run(self.request.held_out(task), "rate", label, 1, way)
            stems.append(stem_of(base))
            self.searches.setdefault(stems[-1], RateSearch(base, rates, self.request.seeds))
        return {"rate_from": tuple(stems)}

    def _test(self, task: str, seed: int, tuned_on: str) -> tuple[str, ...]:
        """Add a test training of one epoch per block (PMT, section 3.3.1), and return their names."""
        names = []
        for label, mask in BLOCKS.items():
            way = self.block(mask)
            run = self._run(self.request.held_out(task), "block", label, seed, replace(way, budget=None))
            run = replace(run, epochs=1, **self._tune({label: way}, tuned_on))
            self.tests[run] = None
            names.append(run.name)
        return tuple(names)

    def _run(self, data: str, column: str, row: str, seed: int, way: TrainingSetup) -> GraphRun:
        request = self.request
        return GraphRun(
            data, column, row, seed, way.epochs or request.epochs, request.batch, request.network, way.method,
            way.given, budget=way.budget, fewest_steps=way.fewest_steps,
        )  # fmt: skip
