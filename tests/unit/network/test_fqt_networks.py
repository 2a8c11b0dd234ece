"""The networks of fully quantized training: three configurations of one network, sizes, where weights come from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hil.errors import RigError
from hil.training.data import load
from hil.training.graph.file import decode, encode, file_size
from hil.training.graph.formats import Format, Op
from hil.training.graph.graph import Graph
from hil.training.networks import NETWORKS, TREES, build, find_network
from hil.training.networks.float_weights import WEIGHTS, read_weights, write_weights
from hil.training.networks.floating import FloatGraph
from hil.training.networks.fqt import FAMILIES, RESET, first_of_head
from hil.training.networks.fqt_shapes import MBEDNETS, fqt_cnn
from hil.training.networks.tiny_training import mcunet_5fps
from hil.training.networks.tree import FOLDER_VARIABLE, is_folder_named
from network import affine8_forward

SIZES = {  # weights, biases, multiply-accumulates
    "fqt-cnn": (28_112, 74, 555_392),
    "fqt-cnn-letters": (28_624, 90, 555_904),
    "mbednet": (35_600, 1_050, 1_061_048),
    "mbednet-reset": (35_600, 1_050, 1_061_048),
    "mbednet-reset-letters": (36_624, 1_066, 1_062_072),
    "mbednet-watch": (31_472, 1_047, 462_776),
    "mbednet-reset-watch": (31_472, 1_047, 462_776),
    "mbednet-vibration": (31_296, 1_050, 988_880),
    "mbednet-reset-vibration": (31_296, 1_050, 988_880),
}
ALL = [f"{family}-{form}" for family in FAMILIES for form in ("uint8", "mixed", "float32")]
BOTH = (Format.AFFINE8, Format.FLOAT32)


def with_weights(graph: Graph) -> list[int]:
    return [index for index, layer in enumerate(graph.layers) if layer.own is not None]


def test_every_family_is_here() -> None:
    assert set(SIZES) == set(FAMILIES)
    assert set(ALL) <= set(NETWORKS)


@pytest.mark.parametrize("name", ALL)
def test_every_network_is_a_file_of_its_configuration(name: str) -> None:
    graph, family = build(name, 1), name.rpartition("-")[0]
    assert (graph.name, graph.formats) == (name, NETWORKS[name].formats)
    assert encode(decode(encode(graph), name)) == encode(graph)
    assert file_size(graph) == len(encode(graph))
    counts = sum(layer.weight_count for layer in graph.layers), sum(layer.channels for layer in graph.layers)
    assert (*counts, graph.macs) == SIZES[family]
    blocks = [graph.layers[index].block for index in with_weights(graph)]
    assert blocks == sorted(blocks) and set(blocks) == {1, 2, 3, 4}
    casts = [layer for layer in graph.layers if layer.op is Op.CAST]
    assert len(casts) == name.endswith("mixed")
    if casts:
        behind = graph.layers[graph.layers.index(casts[0]) + 1]
        assert behind.op is Op.FULLY_CONNECTED, "the classification head is in floats"
        assert all(layer.format is Format.FLOAT32 for layer in graph.layers if layer.op is Op.FULLY_CONNECTED)


@pytest.mark.parametrize("name", ALL)
def test_the_seed_decides_what_is_drawn(name: str) -> None:
    one, other = build(name, 1), build(name, 2)
    changed = [
        index
        for index in with_weights(one)
        if one.layers[index].own.weights.tobytes() != other.layers[index].own.weights.tobytes()
    ]
    drawn = {"fqt-cnn": 64, "fqt-cnn-letters": 64}.get(name.rpartition("-")[0], RESET if "reset" in name else 0)
    assert changed == with_weights(one)[-drawn:] if drawn else not changed
    assert NETWORKS[name].committed == (drawn == 0)
    assert ("drawn by seed" in find_network(name).provenance) == (drawn > 0)


@pytest.mark.parametrize("family", FAMILIES)
def test_three_configurations_are_one_network(family: str) -> None:
    """8 bits may choose another class for a sample here and there."""
    graphs = [build(f"{family}-{form}", 1) for form in ("uint8", "mixed", "float32")]
    images = load(FAMILIES[family].data).test_images[::10].reshape(-1, *graphs[0].in_shape)
    uint8, mixed, floats = (affine8_forward.values(graph, images)[-1].reshape(len(images), -1) for graph in graphs)
    last = graphs[0].layers[-1]
    real = last.scale * (uint8 - last.zero)
    for logits in (real, mixed):
        assert np.corrcoef(logits.ravel(), floats.ravel())[0, 1] > (0.8 if "reset" in family else 0.9)
    if family in ("mbednet", "mbednet-vibration"):
        for logits in (real, mixed):
            assert (logits.argmax(1) == floats.argmax(1)).mean() > 0.9


@pytest.mark.parametrize("name", ALL)
def test_its_data_need_no_download_and_fit(name: str) -> None:
    data, graph = load(NETWORKS[name].data), build(name, 1)
    assert data.test_images[0].size == np.prod(graph.in_shape)
    assert data.train_labels.max() < graph.classes


def test_pre_trained_networks_know_their_data() -> None:
    for family, least in (("mbednet", 0.88), ("mbednet-vibration", 0.95)):
        data = load(FAMILIES[family].data)
        for form in ("uint8", "mixed", "float32"):
            found = affine8_forward.accuracy(build(f"{family}-{form}", 1), data.test_images[::2], data.test_labels[::2])
            assert found > least, (family, form)


def test_the_plan_of_the_paper_s_network_in_numbers() -> None:
    """docs/networks.md: bytes for each weight of the head are 5 in `affine8`, 8 in floats."""
    graph = build("fqt-cnn-uint8", 1)
    head = sum(graph.layers[index].weight_count for index in with_weights(graph)[-2:])
    assert head == 49 * 16 * 32 + 320 == 25_408
    assert first_of_head(fqt_cnn("cnn", 1)) == 3


def test_weights_are_read_as_they_were_written(tmp_path: Path) -> None:
    floats = MBEDNETS["mbednet-watch"]("mine", 3)
    ranges = [(float(-index), float(index) + 0.5) for index in range(len(floats.layers))]
    write_weights(tmp_path / "mine.npz", floats, ranges)
    again, found = read_weights(tmp_path / "mine.npz", MBEDNETS["mbednet-watch"]("mine", 4))
    assert found == ranges
    for one, other in zip(floats.layers, again.layers, strict=True):
        if one.own is not None and other.own is not None:
            np.testing.assert_array_equal(one.own.weights, other.own.weights)
            np.testing.assert_array_equal(one.own.bias, other.own.bias)
    first = (tmp_path / "mine.npz").read_bytes()
    write_weights(tmp_path / "mine.npz", again, found)
    assert (tmp_path / "mine.npz").read_bytes() == first
    with pytest.raises(RigError, match="does not hold the weights of other: install trainrig again"):
        read_weights(tmp_path / "mine.npz", MBEDNETS["mbednet"]("other", 1))


@pytest.mark.parametrize("name", MBEDNETS)
def test_fixtures_are_small(name: str) -> None:
    assert (WEIGHTS / f"{name}.npz").stat().st_size < 300_000


def test_series_have_windows_along_time_only() -> None:
    for name in ("mbednet-watch", "mbednet-vibration"):
        floats: FloatGraph = MBEDNETS[name](name, 1)
        for layer, shape in zip(floats.layers, floats.shapes()[1:], strict=True):
            assert shape[1] == 1
            assert layer.op not in (Op.CONV2D, Op.DEPTHWISE) or (layer.kernel[1], layer.pad) == (1, 0)


def test_the_last_five_layers_are_small() -> None:
    graph = build("mbednet-uint8", 1)
    last = [graph.layers[index] for index in with_weights(graph)[-5:]]
    assert [layer.op for layer in last] == [
        Op.DEPTHWISE, Op.POINTWISE, Op.POINTWISE, Op.FULLY_CONNECTED, Op.FULLY_CONNECTED,
    ]  # fmt: skip
    assert sum(layer.weight_count for layer in last) == 15_328
    assert sum(layer.macs for layer in last) < 0.15 * graph.macs


@pytest.mark.skipif(is_folder_named(), reason=f"{FOLDER_VARIABLE} names a folder, so the networks are known")
@pytest.mark.parametrize("name", TREES)
def test_a_network_of_the_users_files_is_no_unknown_name(name: str) -> None:
    with pytest.raises(
        RigError, match=f"^the files of {name} are not here: set {FOLDER_VARIABLE} .* {TREES[name]}.json"
    ):
        build(f"{name}@5-classes", 1)


def test_mcunet_5fps_says_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    with pytest.raises(RigError, match=f"set {FOLDER_VARIABLE} to a folder with mcunet-5fps.json and mcunet-5fps.npz"):
        mcunet_5fps("mine", 1, "uint8")
    (tmp_path / "mcunet-5fps.json").write_text("{}")
    np.savez(tmp_path / "mcunet-5fps.npz", one=np.zeros(3, np.int8))
    with pytest.raises(RigError, match="is not the tree of mcunet-5fps"):
        mcunet_5fps("mine", 1, "uint8", folder=tmp_path)
