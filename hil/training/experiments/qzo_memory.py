"""Memory of QZO-FF beside back-propagation by their plans (QZO-FF, figures 3 and 4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hil.training.experiments.table import MemoryRow
from hil.training.graph.file import file_size
from hil.training.methods import find_method
from hil.training.networks import build
from hil.training.trial import TrialSpec

NETWORKS = ("lenet5", "resnet-tiny")
FORWARD: tuple[tuple[str, dict[str, Any]], ...] = (  # rows of QZO-FF: what the row is called, and its settings
    ("FF, all layers, 16w8a", {}),
    ("FF, all layers, 16w8a, sparse", {"sparse": "top"}),
    ("FF, all layers, 16w8a, AdamW", {"optimizer": "adamw"}),
    ("FF, linear probe, 16w8a", {"last_layers": 1}),
)
BACKWARD = (  # rows of back-propagation: what the row is called, method, variant, and the names of the networks
    ("BP, all layers, float32", "elasticzo-fp32", "full-bp", "float32"),
    ("BP, last layer, float32", "elasticzo-fp32", "cls2", "float32"),
    ("BP, all layers, int8", "int8-bp", "", "tflite8"),
)
NAMES = {
    ("lenet5", "w16a8"): "lenet5-w16a8",
    ("lenet5", "float32"): "lenet5-float32",
    ("lenet5", "tflite8"): "lenet5-tflite",
    ("resnet-tiny", "w16a8"): "resnet-tiny-w16a8",
    ("resnet-tiny", "float32"): "resnet-tiny-float32",
    ("resnet-tiny", "tflite8"): "resnet-tiny",
}
BATCH = 32  # the plans hold one sample at a time
PARTS = "weights: the network file; scratch: all else"


@dataclass(frozen=True)
class Planned:
    """A row: what it is called, and what a trial needs to measure it."""

    network: str
    title: str
    method: str
    variant: str
    format: str
    settings: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of the network in the format."""
        return NAMES[self.network, self.format]

    def row(self) -> MemoryRow:
        """Return its memory by plan."""
        graph = build(self.name, 1)
        method = find_method(self.method).on(graph, self.variant, batch=BATCH, **self.settings)
        weights = file_size(graph)
        return MemoryRow(self.network, self.title, {"weights": weights, "scratch": method.plan(1).total - weights})

    def trial(self, board: str) -> TrialSpec:
        """Return one step with the memory of the plan: a slot for one sample; `auto` puts the file in RAM."""
        return TrialSpec(
            board, self.variant, network=self.name, method=self.method, batch=2, slots=1, steps=1, evaluate=0,
            settings=dict(self.settings),
        )  # fmt: skip


def planned() -> tuple[Planned, ...]:
    """Return every row on every network."""
    found = []
    for network in NETWORKS:
        found += [Planned(network, title, "qzo-ff", "full", "w16a8", settings) for title, settings in FORWARD]
        for title, name, variant, format in BACKWARD:
            found.append(Planned(network, title, name, variant or find_method(name).default_variant, format, {}))
    return tuple(found)


def memory_rows() -> tuple[MemoryRow, ...]:
    """Return the memory of every row on every network, with the network file in RAM."""
    return tuple(one.row() for one in planned())
