"""The networks in `tflite8`: sizes, blocks, weights, and what sparse training of block 3 costs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from hil.errors import RigError
from hil.training.data import load
from hil.training.graph.file import decode, encode, file_size
from hil.training.graph.formats import Format, Op
from hil.training.graph.graph import Graph
from hil.training.methods.graph_settings import GraphSettings
from hil.training.methods.int8_bp import Int8Bp, Mcutrain
from hil.training.networks import NETWORKS, WEIGHTS, build, find_network, names
from hil.training.networks.drawing import calibration_images
from hil.training.networks.lenet5 import lenet5
from network import integer_forward
from tests.methods import on_graph

SPARSE = GraphSettings(train="pointwise", blocks=4, perturb="adaptive", wise="layer", queries=50)


def sizes(graph: Graph) -> tuple[int, int, int]:
    return sum(layer.weight_count for layer in graph.layers), sum(layer.channels for layer in graph.layers), graph.macs


@pytest.mark.parametrize("name", sorted(names(Format.TFLITE8)))
def test_every_network_is_a_file_with_its_four_blocks_in_order(name: str) -> None:
    graph = build(name, 3)
    assert (graph.name, {layer.rounding for layer in graph.layers}) == (name, {"double"})
    assert encode(decode(encode(graph), name)) == encode(graph)
    blocks = [layer.block for layer in graph.layers if layer.own is not None]
    assert blocks == sorted(blocks)
    assert set(blocks) == {1, 2, 3, 4}
    for layer in graph.layers:
        assert layer.own is None or np.abs(layer.own.weights.astype(int)).max() <= 126
    assert load(NETWORKS[name].data).test_images[0].size == np.prod(graph.in_shape)


@pytest.mark.parametrize("name", sorted(names(Format.TFLITE8)))
def test_the_seed_decides_drawn_weights_and_nothing_else_does(name: str) -> None:
    one, again, other = (encode(build(name, seed)) for seed in (1, 1, 2))
    assert one == again
    assert (one == other) == find_network(name).committed
    assert ("pre-trained" if find_network(name).committed else "drawn by seed") in find_network(name).provenance


def test_mcunet_has_the_papers_sizes() -> None:
    """Poor Man's Training, section 4.1: 22,453,504 multiply-accumulates and 463,216 weights at 128 without the classifier, which has 1,600."""
    weights, biases, macs = sizes(build("mcunet-128", 1))
    assert (weights - 1600, macs - 1600) == (463_216, 22_453_504)
    assert biases == 6018
    for name in ("mcunet-96", "mcunet-64", "mcunet-48"):
        assert sizes(build(name, 1))[:2] == (weights, biases)


def test_sparse_training_of_mcunets_block_3_keeps_to_the_papers_cost() -> None:
    """Table 9: 1,162.5 million multiply-accumulates at Q = 50, and 19 KB more than inference. By hand, of the tenth bottleneck:
    its first pointwise layer by weights (9,216 of them, 12,288 outputs), its second by nodes (3,072 outputs)."""
    graph = build("mcunet-128", 1)
    first, depthwise, second = 8 * 8 * 48 * 192, 8 * 8 * 192 * 9, 8 * 8 * 192 * 48
    behind = (
        8 * 8 * 48 * 240 + 4 * 4 * (240 * 49 + 240 * 96)  # bottleneck 11
        + 2 * 4 * 4 * (96 * 384 + 384 * 25 + 384 * 96) + 4 * 4 * (96 * 576 + 576 * 9 + 576 * 160) + 1600  # 12, 13, 14, classifier
    )  # fmt: skip
    passes = 50 * (first + depthwise + second + behind) + 50 * behind
    by_hand = graph.macs + passes + first + depthwise + second  # and once more, on the way from one to the other
    assert on_graph(graph, SPARSE).figures.step_work().macs == by_hand == 728_698_944
    assert by_hand <= 1_162_500_000
    trained = [graph.layers[index] for index in SPARSE.trained(graph)]
    assert [(layer.op, SPARSE.by_nodes(layer)) for layer in trained] == [
        (Op.POINTWISE, False),
        (Op.POINTWISE, True),
    ]
    assert sum(layer.weight_count + 4 * layer.channels for layer in trained) == 2 * 48 * 192 + 4 * (192 + 48) == 19_392


def test_lenet_is_the_other_familys_with_biases() -> None:
    weights, biases, macs = sizes(build("lenet5-tflite", 1))
    other = lenet5(1)
    assert (weights, macs) == (
        sum(layer.weights.size for layer in other.trained if layer.weights is not None),
        other.macs,
    )
    assert (weights, biases) == (107_550, 236)


@pytest.mark.parametrize("name", ["resnet-tiny", "resnet-tiny-32"])
def test_the_residual_network_fits_every_board(name: str) -> None:
    graph = build(name, 1)
    weights, _, macs = sizes(graph)
    assert 20_000 <= weights <= 60_000
    assert macs < 2_500_000
    assert {layer.op for layer in graph.layers} >= {
        Op.ADD,
        Op.DEPTHWISE,
        Op.POINTWISE,
        Op.AVERAGE_POOL,
    }
    reach = [layer.scale * (layer.act_max - layer.zero) for layer in graph.layers if layer.act_min == layer.zero]
    assert max(reach) <= 6.05
    assert name != "resnet-tiny" or max(reach) >= 5.95, "a ReLU6 that limits"
    assert file_size(graph) + 2 * max(layer.in_size + layer.out_size for layer in graph.layers) < 200_000


def test_drawn_networks_tell_images_apart() -> None:
    """Neither silent nor saturated: most nodes lie between their limits, and the logits differ from image to image."""
    for name in ("resnet-tiny-32", "mcunet-48"):
        graph = build(name, 1)
        logits = []
        for image in calibration_images(graph.in_shape, 5, 3):
            values = integer_forward.values(graph, image)
            logits.append(values[-1].ravel())
            for layer, value in zip(graph.layers, values[1:], strict=True):
                if layer.op is Op.POINTWISE and layer.act_min == -128 < layer.zero:
                    assert np.mean((value > -128) & (value < 127)) > 0.9, layer.name
                assert len(np.unique(value)) > 3, layer.name
        assert all(np.any(a != b) for a, b in pairwise(logits))


def test_a_name_that_is_given_to_another_network_is_that_network(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = [name for name, known in NETWORKS.items() if not known.committed and known.formats == (Format.TFLITE8,)][:2]
    assert len({sizes(build(name, 1)) for name in drawn}) == 2
    for name in drawn:
        monkeypatch.setitem(NETWORKS, "mine", NETWORKS[name])
        assert sizes(build("mine", 1)) == sizes(build(name, 1))


def test_unknown_names_are_refused() -> None:
    with pytest.raises(RigError, match="mcunet-128"):
        build("mcunet-127", 1)


@pytest.mark.parametrize(("name", "largest", "right"), [("lenet5-tflite", 115_000, 40), ("resnet-tiny", 65_000, 40)])
def test_committed_weights_recognize_clothes(name: str, largest: int, right: int) -> None:
    """50 of the committed test images, which were not trained on, by the plain integer pass."""
    assert (WEIGHTS / f"{name}.hnet").stat().st_size < largest
    graph, data = build(name, 1), load("fashion-mnist-1k")
    images, labels = data.test_images[::10], data.test_labels[::10]
    found = [int(integer_forward.values(graph, image[..., None])[-1].argmax()) for image in images]
    assert np.sum(np.array(found) == labels) >= right


def test_back_propagation_costs_three_passes_and_block_3_of_mcunet_fits_in_small_sram() -> None:
    """By hand: a pass forward, one back and one for gradients, but for the error of the input; what MCUTrain trains of MCUNet, 268 KB in PMT's table 11."""
    graph = build("mcunet-128", 1)
    everything = Int8Bp.on(graph, "qas").figures.step_work()
    assert everything.macs == 3 * graph.macs - graph.layers[0].macs
    assert everything.layer_runs == 2 * len(graph.layers)
    sparse = Mcutrain.settings_of("block3", consumed=1, fused=1)
    assert on_graph(graph, sparse, in_flash=True).plan.memory(1).total == 264_120


@pytest.mark.parametrize("momentum", [-0.1, 1.0, 1 - 2.0**-30, float("nan")])
def test_momentum_out_of_range_is_refused(momentum: float) -> None:
    """Also what binary32 rounds to 1."""
    with pytest.raises(RigError, match="setting momentum"):
        Int8Bp.settings_of("qas", momentum=momentum)
