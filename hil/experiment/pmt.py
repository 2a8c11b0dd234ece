"""What the experiments of Poor Man's Training are made of: ways to train, and the runs by which rates and blocks are chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hil.errors import RigError
from hil.experiment.graphs import Given, GraphRun
from hil.experiment.table import Cell
from hil.network.tflite.layers import GraphOp
from hil.network.tflite.methods import METHODS, graph_settings
from hil.network.tflite.networks import NETWORKS, build_graph
from hil.network.tflite.settings import LIMITS, GraphSettings

SEVERITY = 5
BLOCKS = {f"block{block}": 1 << (block - 1) for block in (1, 2, 3, 4)}
ALL = 15  # all blocks: the way's own settings say what is trained
HELD_OUT = 5  # one image of so many is held out where something is chosen
WITHOUT_QAS = (
    30_000  # rates without quantization-aware scaling are so much larger: about 1 / s_w^2, which it divides by
)
PMT, RATES = "poor-mans-training", (0.003, 0.01, 0.03, 0.1)


@dataclass(frozen=True)
class AskedPmt:
    """What the user asked for.

    Attributes:
        network: a pre-trained network.
        corruptions: of severity 5; None for those of the table.
        seeds: how many, from 1.
        epochs: of an adaptation.
        batch: samples whose gradients are accumulated for a step (the paper's N).
        images: training images; a fifth of them is held out where a rate or a block is chosen.
        queries: for each layer (the paper's Q).
        rates: learning rates to choose from; one is taken as it is.
    """

    network: str = "resnet-tiny"
    corruptions: tuple[str, ...] | None = None
    seeds: int = 3
    epochs: int = 50
    batch: int = 100
    images: int = 1000
    queries: int = 100
    rates: tuple[float, ...] = RATES

    def __post_init__(self) -> None:
        if self.batch > self.kept:
            raise RigError(
                f"a batch of {self.batch} is larger than the {self.kept} training images that are left of {self.images} for a choice: "
                "choose a smaller --batch, or more --images."
            )
        if self.queries > LIMITS["queries"][1]:
            raise RigError(f"--queries is {self.queries}: a step has {LIMITS['queries'][1]} at most.")

    @property
    def kept(self) -> int:
        """Training images that are trained on where something is chosen."""
        return self.images - self.images // HELD_OUT

    def set_of(self, corruption: str) -> str:
        """Return the data set of an adaptation."""
        return f"{NETWORKS[self.network].data}+{corruption}-{SEVERITY}@{self.images}"

    def held_out(self, corruption: str) -> str:
        """Return the data set of a choice."""
        return f"{NETWORKS[self.network].data}+{corruption}-{SEVERITY}@{self.kept}-{self.images - self.kept}"

    def budget(self, layers: int) -> int:
        """Return the perturbed forward passes of an adaptation with all queries for so many layers."""
        return self.epochs * (self.images // self.batch) * self.batch * layers * self.queries

    def block(self, mask: int) -> Given:
        """Return the settings that train blocks: their pointwise layers, or all layers of a network that has none."""
        graph = build_graph(self.network, 1)
        pointwise = any(layer.op is GraphOp.POINTWISE for layer in graph.layers)
        return (("train", "pointwise" if pointwise else "all"), ("blocks", mask))

    def layers(self, given: Given) -> tuple[str, ...]:
        """Return the names of the trained layers."""
        graph = build_graph(self.network, 1)
        settings = graph_settings(PMT, next(iter(METHODS[PMT])), **dict(given))
        return tuple(graph.layers[index].name for index in settings.trained(graph))


@dataclass(frozen=True)
class Way:
    """How a row trains.

    Attributes:
        given: settings that are not those of the method's first variant.
        method: its name.
        budget: perturbed forward passes in all; None: so many epochs.
        batch: samples a step; None: as asked for.
        epochs: rows of the curve; None: as asked for.
    """

    given: Given
    method: str = PMT
    budget: int | None = None
    batch: int | None = None
    epochs: int | None = None

    def rates(self, asked: AskedPmt, masks: Sequence[int]) -> tuple[float, ...]:
        """Return the rates to choose from: those asked for, times what the scalings that are left out would be (`masks`: blocks that may be trained)."""
        settings = [
            graph_settings(self.method, next(iter(METHODS[self.method])), **{**dict(self.given), **dict(blocks)})
            for blocks in (asked.block(mask) if mask != ALL else () for mask in masks)
        ]
        factor = 1.0 if settings[0].qas else WITHOUT_QAS
        if settings[0].method == "poor-mans" and not settings[0].gns:
            factor *= min(_gns(asked.network, one, self.batch or asked.batch) for one in settings)
        return tuple(float(f"{rate * factor:.2g}") for rate in asked.rates)


def _gns(network: str, settings: GraphSettings, samples: int) -> float:
    """Return the least factor of gradient-norm scaling among the layers, or that of the whole (docs/arithmetic-zeroth-order.md, section 6)."""
    graph = build_graph(network, 1)
    layers = [graph.layers[index] for index in settings.trained(graph)]
    drawn = [layer.out_size if settings.by_nodes(layer) else layer.weights + layer.channels for layer in layers]
    total = samples * settings.queries
    return total / (total + (sum(drawn) if settings.wise == "model" else max(drawn)) - 1)


class Builder:
    """Gathers the runs of a table, stage by stage.

    Attributes:
        stages: runs by stage: rates, blocks, rates of what takes a chosen block, the table itself.
        cells: of the table.
    """

    def __init__(self, asked: AskedPmt) -> None:
        self.asked = asked
        self.stages: tuple[dict[GraphRun, None], ...] = ({}, {}, {}, {})
        self.cells: dict[Cell, tuple[GraphRun, ...]] = {}

    @property
    def choices(self) -> frozenset[str]:
        """Names of the runs that others choose among."""
        return frozenset(run.name for stage in self.stages[:3] for run in stage)

    @property
    def all_stages(self) -> tuple[tuple[GraphRun, ...], ...]:
        """The stages that have runs."""
        return tuple(tuple(stage) for stage in self.stages if stage)

    def row(
        self, column: str, row: str, corruptions: Sequence[str], way: Way, tuned_on: str, chosen: bool = False
    ) -> None:
        """Add the cell of a row, over corruptions and seeds.

        Args:
            column, row: of the table.
            corruptions: the cell is the mean over them.
            way: how the row trains.
            tuned_on: the corruption on which its rate is chosen.
            chosen: whether the trained block is that which gains most in an epoch of its own.
        """
        runs = []
        rates = self.tune(row, way, tuned_on, chosen)
        for corruption in corruptions:
            for seed in range(1, self.asked.seeds + 1):
                blocks = self.tests(corruption, seed, tuned_on) if chosen else ()
                run = self._run(self.asked.set_of(corruption), column, row, seed, way)
                runs.append(replace(run, blocks_from=blocks, **rates))
        self.stages[3].update(dict.fromkeys(runs))
        self.cells[self.data, column, row] = tuple(runs)

    @property
    def data(self) -> str:
        """Name above a column."""
        return self.asked.network

    def tune(self, row: str, way: Way, corruption: str, chosen: bool = False) -> Mapping[str, Any]:
        """Return the fields of a run that say what its learning rate is; a block's own rate where Poor Man's Training takes a chosen one."""
        if chosen and way.method == PMT:
            return {}
        rates = way.rates(self.asked, tuple(BLOCKS.values()) if chosen else (ALL,))
        if len(rates) == 1:
            return {"eta": rates[0]}
        blocks = self.tests(corruption, 1, corruption) if chosen else ()
        base = replace(self._run(self.asked.held_out(corruption), "rate", row, 1, way), blocks_from=blocks)
        runs = [replace(base, eta=rate, tag=f"eta{rate:g}") for rate in rates]
        self.stages[2 if chosen else 0].update(dict.fromkeys(runs))
        return {"rate_from": tuple(run.name for run in runs)}

    def tests(self, corruption: str, seed: int, tuned_on: str) -> tuple[str, ...]:
        """Add a test training of one epoch for each block (PMT, section 3.3.1), and return their names."""
        runs = []
        for row, mask in BLOCKS.items():
            way = self.block(mask)
            rate = self.tune(row, way, tuned_on)
            run = replace(self._run(self.asked.held_out(corruption), "block", row, seed, way), epochs=1)
            runs.append(replace(run, **rate))
        self.stages[1].update(dict.fromkeys(runs))
        return tuple(run.name for run in runs)

    def block(self, mask: int, budget: int | None = None) -> Way:
        """Return the way of Poor Man's Training in some blocks."""
        return Way((*self.asked.block(mask), ("queries", self.asked.queries)), budget=budget)

    def _run(self, data: str, column: str, row: str, seed: int, way: Way) -> GraphRun:
        asked = self.asked
        return GraphRun(
            data, column, row, seed, way.epochs or asked.epochs, way.batch or asked.batch, asked.network, way.method, way.given,
            budget=way.budget,
        )  # fmt: skip
