"""Networks with a head for other classes: by name, and as a file that `hil network head` writes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hil.commands.main import main
from hil.errors import RigError
from hil.training.graph.file import decode, encode
from hil.training.graph.graph import Graph
from hil.training.matrix.cells import NETWORK_NAMES, cells, check_name
from hil.training.networks import NETWORKS, build, find_network
from hil.trial import TrialSpec, does_not_fit

PUBLISHED = [name for name in ("mcunet-in1-128", "mbv2-w0.35", "mcunet-5fps-int8") if name in NETWORKS]


def same_but_for_the_head(one: Graph, other: Graph) -> bool:
    """Whether all layers but the last have the same arrays."""
    pairs = zip(one.layers[:-1], other.layers[:-1], strict=True)
    owns = [(a.own, b.own) for a, b in pairs if a.own is not None and b.own is not None]
    return all(np.array_equal(a.weights, b.weights) and np.array_equal(a.bias, b.bias) for a, b in owns)


@pytest.mark.parametrize("base", ["mcunet-48", *PUBLISHED])
def test_only_the_head_is_another(base: str) -> None:
    graph, whole = build(f"{base}@3-classes", 2), build(base, 2)
    assert (graph.name, graph.classes, graph.layers[-1].out_shape) == (f"{base}@3-classes", 3, (1, 1, 3))
    assert graph.layers[-1].own is not None and graph.layers[-1].own.weights.shape == (3, whole.layers[-1].in_size)
    assert same_but_for_the_head(graph, whole) and whole.classes == 10
    assert [layer.block for layer in graph.layers] == [layer.block for layer in whole.layers]
    assert build(f"{base}@3-classes", 2) is graph, "built once"
    other = build(f"{base}@3-classes", 3).layers[-1].own
    assert other is not None and not np.array_equal(other.weights, graph.layers[-1].own.weights)
    assert find_network(f"{base}@3-classes").data == NETWORKS[base].data


def test_the_command_writes_the_same_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "mine.hnet"
    assert main(["network", "head", "mcunet-48", "--classes", "3", "--seed", "2", "--out", str(out)]) == 0
    assert out.read_bytes() == encode(build("mcunet-48@3-classes", 2))
    assert decode(out.read_bytes(), "mine").classes == 3
    said = capsys.readouterr().out
    assert f"a head for 3 classes, {out.stat().st_size:,} bytes" in said and "drawn by seed" in said
    assert main(["network", "head", "mcunet-48", "--classes", "3", "--out", str(tmp_path / "mine.bin")]) == 2
    assert "mine.bin is no name of a network file: end it with .hnet." in capsys.readouterr().err


def test_a_trial_and_the_lists_name_it() -> None:
    name = "mcunet-48@2-classes"
    assert (
        does_not_fit(TrialSpec("stm32h7b3", "block3", name, "poor-mans-training", NETWORKS["mcunet-48"].data)) is None
    )
    check_name("network", name, NETWORK_NAMES)
    variants = [{(cell.method, cell.variant) for cell in cells(["rp2040"], [one])} for one in (name, "mcunet-48")]
    assert variants[0] == variants[1] != set()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("resnet-tiny@2-classes", "resnet-tiny has the weights of its own classes: leave out @2-classes, or choose mc"),
        ("mcunet-48@1-classes", "mcunet-48@1-classes has 1 classes: give 2 to 1,024."),
        ("mcunet-48@1025-classes", "has 1025 classes: give 2 to 1,024."),
        ("mcunet-49@2-classes", "there is no network 'mcunet-49@2-classes': did you mean mcunet-"),
        ("mcunet-48@2-class", "there is no network"),
    ],
)
def test_what_is_refused(name: str, sentence: str) -> None:
    with pytest.raises(RigError, match=sentence):
        find_network(name)
