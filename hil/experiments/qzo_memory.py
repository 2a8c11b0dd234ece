"""Memory of QZO-FF beside back-propagation by their plans (QZO-FF, figures 3 and 4)."""

from __future__ import annotations

from typing import Any

from hil.experiments.table import MemoryRow
from hil.graph.file import file_size
from hil.methods import find_method
from hil.networks import build

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


def memory_rows() -> tuple[MemoryRow, ...]:
    """Return the memory of every row on every network, with the network file in RAM."""
    found = []
    for network in NETWORKS:
        rows = [(title, "qzo-ff", "full", "w16a8", settings) for title, settings in FORWARD]
        rows += [(*row, {}) for row in BACKWARD]
        for title, name, variant, format, settings in rows:
            kind = find_method(name)
            graph = build(NAMES[network, format], 1)
            method = kind.on(graph, variant or kind.default_variant, batch=BATCH, **settings)
            weights = file_size(graph)
            parts = {"weights": weights, "scratch": method.plan(1).total - weights}
            found.append(MemoryRow(network, title, parts))
    return tuple(found)
