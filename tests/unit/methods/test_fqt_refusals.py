"""What FQT refuses before anything is flashed (docs/arithmetic-fqt.md, section 9)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from graph.test_file_affine8 import tiny
from reference.affine8_networks import A8, F32, Maker, network_a, network_b, network_c
from reference.float32_networks import network_a as no_affine8

from hil.errors import RigError
from hil.training.graph.affine8 import with_scales
from hil.training.graph.formats import Format, Op
from hil.training.graph.graph import Graph
from hil.training.methods.fqt import Fqt
from hil.training.networks import build


def refused(graph: Graph, words: str, variant: str = "sparse", **settings: Any) -> None:
    with pytest.raises(RigError, match=words):
        Fqt.on(graph, variant, **settings)


def test_the_variant_against_the_network() -> None:
    refused(network_c(), "the variant uint8 of fqt .* choose the variant mixed", "uint8")
    refused(network_a(F32), "the variant uint8 of fqt .* drawn is one all of .* choose the variant float32", "uint8")
    refused(network_a(), "the variant mixed of fqt .* choose the variant uint8", "mixed")
    refused(network_a(F32), "the variant mixed of fqt .* choose the variant float32", "mixed")
    refused(network_c(), "the variant float32 of fqt .* choose the variant mixed", "float32")
    refused(network_a(), "no variant 'uint9'", "uint9")
    for graph, variant in ((network_a(), "uint8"), (network_c(), "mixed"), (network_a(F32), "float32")):
        for name in (variant, "sparse", "last-5"):
            assert Fqt.on(graph, name).settings == Fqt.kind(**Fqt.variants[name])


def test_formats() -> None:
    every = tuple(Format)
    assert Fqt.trains([Format.AFFINE8]) and Fqt.trains([Format.TFLITE8, Format.AFFINE8, Format.FLOAT32])
    assert not any(Fqt.trains([format]) for format in every if format not in (A8, F32))
    assert not Fqt.trains(every) and Fqt.variants_on([Format.TFLITE8]) == ()
    assert Fqt.variants_on([Format.TFLITE8, A8]) == ("uint8", "sparse", "last-5")
    assert Fqt.variants_on([A8, F32]) == ("mixed", "sparse", "last-5")
    assert Fqt.variants_on([F32]) == ("float32", "sparse", "last-5")
    refused(build("lenet5-tflite", 1), "lenet5-tflite has layers in tflite8, and FQT trains affine8 and float32")
    assert Fqt.on(no_affine8(), "float32")


def test_a_cast_that_the_logits_do_not_come_from() -> None:
    net = Maker((2, 2, 1), 2.0**-8, 0)
    net.add(Op.CONV2D, (2, 2, 1), 1, 1, range=(-1.0, 2.0))
    net.add(Op.CAST, (2, 2, 1))
    net._format = A8
    net.add(Op.FULLY_CONNECTED, (1, 1, 3), reads=(1,), range=(-1.0, 2.0))
    refused(net.graph(), "drawn has a cast, but its last layer is not in float32", "mixed")


def test_shares() -> None:
    refused(network_a(), "setting lambda_max is 0.05 with lambda_min = 0.1", lambda_max=0.05)
    assert Fqt.on(network_a(), "sparse", lambda_max=0.1)


def test_tflite8_after_the_first_trained_layer() -> None:
    graph = tiny()
    assert [graph.layers[index].name for index in Fqt.on(graph, "mixed").settings.trained(graph)] == [
        "conv1", "dw1", "pw2", "fc1",
    ]  # fmt: skip
    late = replace(graph.layers[0], name="pw9", reads=(1,), in_shape=(4, 4, 2))
    own = late.own
    assert own is not None
    late = replace(late, own=replace(own, weights=np.full((2, 1, 1, 2), 7, np.int8)))
    moved = replace(graph, layers=(*graph.layers[:-1], late, graph.layers[-1]))
    refused(with_scales(moved), "layer pw9 of tiny is in tflite8 after the first trained layer, conv1", "mixed")
    assert Fqt.on(with_scales(moved), "mixed", last_layers=1)


def test_squares_that_could_leave_64_bits() -> None:
    net = Maker((256, 128, 1), 2.0**-8, 0)
    net.add(Op.CONV2D, (256, 128, 1), 3, 1, 1, range=(-1.0, 2.0))
    net.add(Op.MAX_POOL, (1, 1, 1), 0, 1)
    net.nodes[-1] = replace(net.nodes[-1], kernel=(256, 128))
    net.add(Op.FULLY_CONNECTED, (1, 1, 3), range=(-1.0, 2.0))
    refused(net.graph(), "layer conv1 of drawn has 32,768 output positions and 9 weights .* smaller last_layers")
    assert Fqt.on(net.graph(), "sparse", last_layers=1)


def test_pools() -> None:
    net = Maker((4, 4, 1), 2.0**-8, 0)
    net.add(Op.CONV2D, (4, 4, 1), 3, 1, 1, range=(-1.0, 2.0))
    net.add(Op.MAX_POOL, (3, 3, 1), 2, 1)
    net.add(Op.FULLY_CONNECTED, (1, 1, 3), range=(-1.0, 2.0))
    refused(net.graph(), "layer pool1 has windows that overlap")
    assert Fqt.on(net.graph(), "sparse", last_layers=1)


def test_nothing_to_train() -> None:
    graph = network_b()
    assert Fqt.on(graph, "last-5").settings.trained(graph) == (4, 5, 7, 9, 11)
    assert [tensor.name for tensor in Fqt.on(graph, "last-5", train_bias=0).plan.tensors] == [
        "pw2", "pw3", "mul1.range", "pw4", "add1.range", "conv1", "fc1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "state"),
    [
        ({}, "the statistics of the gradients"),
        ({"standardise": "off", "error_range": "running"}, "the running ranges of errors"),
        ({"standardise": "batch", "lambda_min": 0.5}, "the largest loss"),
        ({"standardise": "accumulated"}, "the statistics of the gradients"),
        ({"standardise": "off", "optimizer": "momentum"}, "what momentum keeps"),
        ({"standardise": "batch", "optimizer": "adam"}, "what adam keeps"),
        ({"standardise": "off"}, None),
    ],
)
def test_what_a_step_leaves_for_the_next(settings: dict[str, Any], state: str | None) -> None:
    method = Fqt.on(network_a(), "uint8", **settings)
    found = method.request.kept_state(method.settings)
    assert (found and found[0]) == state
