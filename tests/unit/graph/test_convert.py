"""A network file of an old version: converted it is the file of the same graph, and nobody else reads it (docs/network.md)."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st
from network.drawn import networks
from network.drawn_affine8 import affine8_graphs
from network.drawn_float32 import float32_graphs
from network.drawn_graphs import graphs
from network.w16a8_graphs import w16a8_graphs

from hil.training.graph.file import NetworkFileError, decode, encode
from hil.training.graph.graph import Format, Graph, Op
from hil.training.graph.old_versions import converted
from hil.training.networks import WEIGHTS
from hil.training.networks.lenet5 import lenet5

from .old_files import started, version_1, version_2, version_3
from .test_file_affine8 import tiny
from .test_file_float32 import tiny as tiny_float32

Write = Callable[[Graph], bytes]


def whole_graph() -> Graph:
    return decode((WEIGHTS / "resnet-tiny.hnet").read_bytes())


@settings(max_examples=60, deadline=None)
@given(network=networks(exponents=(-32, 8)))
def test_version_1_becomes_the_file_of_the_same_graph(network: Graph) -> None:
    network = replace(network, scale=2.0**-7)
    assert converted(version_1(network)) == encode(network)


@settings(max_examples=60, deadline=None)
@given(graph=graphs(format=Format.W16A8, version=2))
def test_version_2_becomes_the_file_of_the_same_graph(graph: Graph) -> None:
    assert converted(version_2(graph)) == encode(graph)


@settings(max_examples=100, deadline=None)
@given(
    graph=st.one_of(
        graphs(format=Format.W16A8, version=3),
        networks().map(lambda network: replace(network, scale=2.0**-7)),
        w16a8_graphs(version=3),
        float32_graphs(version=3),
        affine8_graphs(version=3),
    )
)
def test_version_3_becomes_the_file_of_the_same_graph(graph: Graph) -> None:
    assert converted(version_3(graph)) == encode(graph)


def test_a_version_3_with_several_formats_becomes_the_file_of_the_same_graph() -> None:
    graph = tiny()
    layers = (replace(layer, stride=(1, 1)) if layer.op is Op.DEPTHWISE else layer for layer in graph.layers)
    graph = replace(graph, layers=tuple(layers))
    assert {layer.rounding for layer in graph.layers} == {"single", "floor", ""}
    assert converted(version_3(graph)) == encode(graph)


@pytest.mark.parametrize(
    ("rounding", "network"), [(1, "float32"), (2, "tflite8"), (3, "tflite8"), (4, "tflite8"), (1, "bfp8")]
)
def test_a_rounding_that_no_layer_has_is_refused(rounding: int, network: str) -> None:
    graph = {"float32": tiny_float32, "tflite8": whole_graph, "bfp8": lambda: lenet5(1)}[network]()
    rest = bytearray(version_3(graph)[16:])
    rest[13] = rounding
    with pytest.raises(NetworkFileError, match=f"rounding {rounding}"):
        converted(started(3, len(graph.layers), bytes(rest)))


@pytest.mark.parametrize("version", [1, 2, 3])
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_damaged_old_file_is_refused_or_is_another_network(version: int, data: st.DataObject) -> None:
    """Whatever is converted is a whole file of version 4, and whatever is not ends in one sentence."""
    graph = data.draw(networks() if version == 1 else graphs(format=Format.W16A8, version=version))
    blob = {1: version_1, 2: version_2, 3: version_3}[version](graph)
    rest = bytearray(blob[16:])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, min(len(rest), 700) - 1))
        rest[at] = data.draw(st.integers(0, 255))
    layers = struct.unpack_from("<H", blob, 6)[0] + data.draw(st.sampled_from([0, 0, 0, 1, -1, 300]))
    try:
        new = converted(started(version, layers, bytes(rest)))
    except NetworkFileError as refused:
        assert str(refused).count("\n") == 0
    else:
        assert encode(decode(new)) == new


OLD = [(1, version_1, lambda: lenet5(1)), (2, version_2, whole_graph), (3, version_3, whole_graph)]


@pytest.mark.parametrize(("version", "write", "graph"), OLD)
def test_a_file_that_is_cut_or_changed_is_refused(version: int, write: Write, graph: Callable[[], Graph]) -> None:
    blob = write(graph())
    for length in (0, 4, 31, 32, 100, len(blob) - 1):
        with pytest.raises(NetworkFileError, match="is damaged"):
            converted(blob[:length])
    for at in range(8, len(blob), 997):
        changed = bytearray(blob)
        changed[at] ^= 4
        with pytest.raises(NetworkFileError, match="is damaged"):
            converted(bytes(changed))


@pytest.mark.parametrize(("version", "write", "graph"), OLD)
def test_everybody_else_refuses_an_old_file_and_names_the_cure(
    version: int, write: Write, graph: Callable[[], Graph]
) -> None:
    blob = write(graph())
    with pytest.raises(NetworkFileError) as refused:
        decode(blob)
    assert f"of version {version}" in str(refused.value)
    assert "hil network convert FILE" in str(refused.value)


def test_a_new_or_a_foreign_file_is_not_converted() -> None:
    with pytest.raises(NetworkFileError, match="version 4.*use it as it is"):
        converted(encode(lenet5(1)))
    with pytest.raises(NetworkFileError, match="version 5.*update trainrig"):
        converted(started(5, 1, bytes(64)))
    with pytest.raises(NetworkFileError, match="not with HNET"):
        converted(b"\x7fELF" + bytes(60))


def hil(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hil.commands.main", *arguments], capture_output=True, text=True, timeout=120
    )


def test_the_command_replaces_the_file(tmp_path: Path) -> None:
    path = tmp_path / "net.hnet"
    path.write_bytes(version_1(lenet5(1)))
    done = hil("network", "convert", str(path))
    assert done.returncode == 0, done.stderr
    assert "version 4" in done.stdout
    assert path.read_bytes() == encode(lenet5(1))
    again = hil("network", "convert", str(path))
    assert again.returncode != 0
    assert "use it as it is" in again.stderr
    assert path.read_bytes() == encode(lenet5(1))
    assert [one.name for one in tmp_path.iterdir()] == ["net.hnet"]


def test_the_command_leaves_a_damaged_file_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "net.hnet"
    blob = version_1(lenet5(1))[:-1]
    path.write_bytes(blob)
    done = hil("network", "convert", str(path))
    assert done.returncode != 0
    assert done.stderr.count("\n") == 1
    assert path.read_bytes() == blob


COMMITTED = {"lenet5-tflite": ("d722ac04", "37622842"), "resnet-tiny": ("b668d59e", "644fc08d")}


def test_the_weights_of_the_committed_networks_are_those_of_the_old_files() -> None:
    """XXH32 of all weights, and of all biases, as they were in the files of version 2."""
    digests = {
        name: tuple(xxhash.xxh32_hexdigest(b"".join(parts)) for parts in zip(*tensors(name), strict=True))
        for name in ("lenet5-tflite", "resnet-tiny")
    }
    assert digests == COMMITTED


def tensors(name: str) -> list[tuple[bytes, bytes]]:
    graph = decode((WEIGHTS / f"{name}.hnet").read_bytes())
    return [
        (layer.own.weights.tobytes(), layer.own.bias.astype("<i4").tobytes())
        for layer in graph.trained
        if layer.own is not None
    ]
