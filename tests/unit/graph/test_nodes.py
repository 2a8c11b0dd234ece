"""A layer has the fields of its format and no others, and is not taken for one of another format."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from hil.training.graph.node import (
    NODES,
    Affine8Node,
    ChainNode,
    ChainParameters,
    Float32Node,
    Node,
    Tflite8Node,
    W16A8Node,
)
from hil.training.networks import build
from hil.training.networks.lenet5 import lenet5

COMMON = {each.name for each in fields(Node)}
SCALED = {"act_min", "act_max", "scale", "zero", "own"}


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        (ChainNode, {"own", "format"}),
        (Tflite8Node, SCALED | {"factors", "rounding"}),
        (W16A8Node, SCALED | {"factors"}),
        (Affine8Node, SCALED | {"low", "high", "rounding"}),
        (Float32Node, {"act_min", "act_max", "own"}),
    ],
)
def test_fields(kind: type[Node], more: set[str]) -> None:
    assert {each.name for each in fields(kind)} == COMMON | more
    assert kind is ChainNode or NODES[kind.FORMAT] is kind


def test_a_layer_of_another_format_is_refused() -> None:
    graph = lenet5(1)
    assert graph.nodes(ChainNode) == graph.layers
    with pytest.raises(TypeError, match="conv1 is a ChainNode, not a Tflite8Node"):
        graph.node(0, Tflite8Node)
    with pytest.raises(TypeError, match="conv1 has ChainParameters, not Tflite8Parameters"):
        graph.layers[0].with_own(build("lenet5-tflite", 1).own[0])


def test_parameters_by_index() -> None:
    graph = lenet5(1)
    assert list(graph.own) == [0, 3, 6, 8, 10] and graph.own_of(ChainParameters) == graph.own
    changed = graph.changed({3: {"exponent": -9}})
    assert [own.exponent for own in changed.own_of(ChainParameters).values()][1] == -9
    new = [np.zeros_like(own.weights) for own in graph.own.values()]
    assert not any(own.weights.any() for own in graph.with_weights(new).own.values())
    assert replace(graph, layers=graph.layers[:1]).own[0] is graph.own[0]
