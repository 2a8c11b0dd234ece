"""Graphs and settings for back-propagation, drawn by hypothesis."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.methods.graph_settings import GraphSettings


@st.composite
def bp_settings(draw: st.DrawFn) -> GraphSettings:
    """Draw settings of `bp`; what counts for nothing is drawn too."""
    train = draw(st.sampled_from(["all", "all", "last", "bias", "pointwise", "pointwise-last"]))
    return GraphSettings(
        method="bp",
        train=train,
        blocks=draw(st.sampled_from([15, 15, 12, 6, 9])),
        train_bias=1 if train == "bias" else draw(st.integers(0, 1)),
        wise=draw(st.sampled_from(["layer", "model"])),
        gns=draw(st.integers(0, 1)),
        qas=draw(st.integers(0, 1)),
        momentum=draw(st.sampled_from([0.0, 0.0, 0.5, 0.9, 0.99, 1e-60])),
        eta=draw(st.sampled_from([2.0**-140, 2.0**-20, 1e-4, 0.01, 0.3, 10.0, 1000.0, 2.0**20])),
        batch=draw(st.integers(1, 3)),
        seed=draw(st.integers(0, 2**32 - 1)),
        consumed=draw(st.integers(0, 1)),
        fused=draw(st.integers(0, 1)),
    )


def rewired(graph: Graph, rng: np.random.Generator) -> Graph:
    """Return the graph with some layers reading other values of the same shape: values of several readers, and some that nobody reads."""
    layers = list(graph.layers)
    shapes = [graph.in_shape, *(layer.out_shape for layer in layers)]
    for index, layer in enumerate(layers):
        alike = [value for value in range(index + 1) if shapes[value] == shapes[layer.reads[0]]]
        if layer.op not in (Op.MAX_POOL, Op.AVERAGE_POOL) and rng.random() < 0.3:
            layers[index] = replace(layer, reads=(int(rng.choice(alike)), *layer.reads[1:]))
    return replace(graph, layers=tuple(layers))


def takes_layers(graph: Graph, chosen: GraphSettings) -> bool:
    """Return whether from the first trained layer on there is no table, and pools have windows apart, in the image."""
    for layer in graph.layers[min(chosen.trained(graph)) :]:
        if layer.op is Op.TABLE:
            return False
        if layer.op in (Op.MAX_POOL, Op.AVERAGE_POOL):
            seen = [
                [set(range(at * stride - pad, at * stride - pad + kernel)) for at in range(out)]
                for kernel, out, stride, pad in zip(
                    layer.kernel, layer.out_shape[:2], layer.stride, layer.pad, strict=True
                )
            ]
            for windows, size in zip(seen, layer.in_shape[:2], strict=True):
                if any(layer.pad) or sum(map(len, windows)) > len(set().union(*windows) & set(range(size))):
                    return False
    return True
