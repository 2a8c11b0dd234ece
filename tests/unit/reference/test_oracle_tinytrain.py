"""The oracle of TinyTrain against the test vectors of docs/arithmetic-tinytrain.md, section 10."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xxhash

from hil.training.graph.graph import Graph
from hil.training.graph.plan import up
from hil.training.methods.graph_settings import GraphSettings
from hil.training.methods.int8_bp import Int8Bp
from reference.tinytrain_networks import network_a, network_b, samples
from tests.oracle import PlainTinyTrain
from tests.oracle.graph_layers import Own, run
from tests.oracle.numbers import F32, Tensor

PAGE = Path(__file__).parents[3] / "docs/arithmetic-tinytrain.md"
NETWORKS = {"A": network_a, "B": network_b}
WHOLE = {"work_budget": 256, "channels": 256, "memory_budget": 2**32 - 1}
STEPS: dict[str, dict[str, Any]] = {
    "A1": WHOLE | {"momentum": 0.9},
    "A2": {"work_budget": 256},
    "A3": {},
    "A4": {"work_budget": 256, "momentum": 0.5, "memory_budget": 800},
    "A5": {"batch": 1, "ranking": 2, "work_budget": 256, "momentum": 0.5},
    "A6": {"train": "bias", "work_budget": 256, "eta": 0.5},
    "B1": WHOLE | {"momentum": 0.9},
    "B2": {"work_budget": 256},
    "B3": {"work_budget": 128},
    "B4": {},
    "B5": {"channels": 64, "work_budget": 256, "momentum": 0.9, "memory_budget": 400},
    "B6": {"qas": 0, "eta": 300.0, "work_budget": 100},
    "B7": {"blocks": 6, "work_budget": 256, "train_bias": 0},
    "B8": {"ranking": 2, "work_budget": 200, "channels": 1},
}


def plain(network: str, **settings: Any) -> PlainTinyTrain:
    chosen = {"method": "tinytrain", "batch": 3, "eta": 0.125} | settings
    return PlainTinyTrain(NETWORKS[network](), GraphSettings(**chosen))


def bits(x: np.float32) -> str:
    return f"{int(F32(x).view(np.uint32)):08X}"


def digest(values: Sequence[int], kind: str = "i1") -> str:
    return f"{xxhash.xxh32_intdigest(np.array(values, '<' + kind).tobytes()):08X}"


def digests(method: PlainTinyTrain) -> list[str]:
    """Return those of the trained tensors, input to output."""
    found = []
    for index in method.clipped:
        own = method.own[index]
        assert own is not None
        found += [digest(own.weights)] if method.settings.trains_weights else []
        found += [digest(own.bias, "i4")] if method.settings.train_bias else []
    return found


def rows() -> dict[str, list[str]]:
    """Return the cells of the table of steps by its first column."""
    lines = (line.strip("|").split("|") for line in PAGE.read_text(encoding="utf-8").splitlines() if "|" in line)
    cells = ([cell.strip() for cell in line] for line in lines)
    return {line[0]: line[1:] for line in cells if line[0] in STEPS}


def kept_of(cell: str) -> dict[int, list[int]]:
    """Return what a cell like `0: 2 3, 2: 0 1 2` says."""
    pairs = (layer.split(":") for layer in cell.split(","))
    return {int(layer): [int(channel) for channel in channels.split()] for layer, channels in pairs}


def values_of(graph: Graph, image: np.ndarray) -> list[list[int]]:
    values = [[int(p) - 128 for p in image.ravel()]]
    for layer, own in zip(graph.layers, Own.of(graph), strict=True):
        values.append(run(graph, layer, [values[value] for value in layer.reads], own))
    return values


def step(method: PlainTinyTrain, number: int) -> np.float32:
    images, labels = samples(method.graph)
    some = slice(number, number + 1) if method.settings.batch == 1 else slice(None)
    return method.step(images[some], labels[some])


@pytest.mark.parametrize("name", STEPS)
def test_three_steps(name: str) -> None:
    method, (_, kept, losses, whole, work) = plain(name[0], **STEPS[name]), rows()[name]
    found = []
    for number in range(3):
        loss = step(method, number)
        step_digest = xxhash.xxh32_intdigest(b"".join(int(one, 16).to_bytes(4, "little") for one in digests(method)))
        found.append((bits(loss), f"{step_digest:08X}"))
        assert (method.kept is None) == (number + 1 < method.settings.ranking)
    assert found == list(zip(losses.split(), whole.split(), strict=True))
    assert method.kept == kept_of(kept)
    assert f"{method.macs}, {method.runs}" == work


@pytest.mark.parametrize(("name", "work"), [("A2", (4536, 18)), ("B2", (10668, 42)), ("B7", (8940, 39))])
def test_a_ranking_step_moves_nothing(name: str, work: tuple[int, int]) -> None:
    method = plain(name[0], **STEPS[name])
    before = digests(method)
    step(method, 0)
    assert (digests(method), (method.macs, method.runs)) == (before, work)


@pytest.mark.parametrize(
    ("network", "number", "said"),
    [
        ("A", 0, "E3EBB851 D5E626CC 09954CCE 77593BDC"),
        ("A", 1, "708085AC 8809C23F 50462A11 10E78585"),
        ("A", 2, "62006222 6FEBDC49 C02C865D 8FEAACB9"),
        ("B", 0, "78AC5F9C 0C0A8BF3 4269D2A1 5C5E38B1 51B99AB0 18A190DC 2F91536F A6466F48"),
        ("B", 1, "8C10B698 B8C86E72 A51C8054 96BBB1B7 0AE62C95 57A7425F C4F85FD7 FA7C530B"),
        ("B", 2, "F6C3391F F89E798C 7027D94A B1D2756B 05D6A890 B8F48A13 7584BE91 8F2E21F0"),
    ],
)
def test_values(network: str, number: int, said: str) -> None:
    graph = NETWORKS[network]()
    assert [digest(value) for value in values_of(graph, samples(graph)[0][number])] == said.split()


RANKING = [
    ("A", 2, "3F810204 -12", "3E77D254 40A1B977 40934B86", "4120E2D0 42F15438"),
    ("A", 0, "3FC18306 -21", "3D3422C7 3FA24787 4022775E 40185997", "4163DAD2 421E1302"),
    ("B", 6, "3F810204 -11", "3CAB9200 41CF13D4 3FEE7848", "41E1A95A 465FA58C"),
    ("B", 4, "3FC18306 -20", "3A9CD048 400CCE53 407CF5BB 3E6DA75B 3DC88C03 3F20AE0F", "418207A7 418207A7"),
    ("B", 2, "3F912244 -27", "3F8CCED0 3FB4481F 3F818AA1 3FA473A9", "40C5B164 43677093"),
    ("B", 1, "3FD9B366 -34", "3F2324F8 3CF28F08 3E803593 3D227BEB", "40312A45 41B85CC9"),
    ("B", 0, "3F912244 -27", "40096A55 3BC31FB4 3D395914 3F078CB4", "4060722A 43DAF761"),
]


@pytest.mark.parametrize(("network", "layer", "factor", "d", "score"), RANKING)
def test_ranking(network: str, layer: int, factor: str, d: str, score: str) -> None:
    method = plain(network, work_budget=256)
    step(method, 0)
    of_output = method.factors[layer + 1]
    assert f"{bits(of_output.c)} {of_output.j}" == factor
    assert [bits(one) for one in method.fisher[layer]] == d.split()
    assert [bits(method.potential(layer)), bits(method.score(layer))] == score.split()


@pytest.mark.parametrize(
    ("u", "power", "v", "squared"),
    [
        (3, -75, "22400000", "05100000"),
        (-30000, -17, "BE6A6000", "3D5693A4"),
        (16777217, -9, "47000000", "4E800000"),
        (5, 4, "40A00000", "41C80000"),
    ],
)
def test_squares(u: int, power: int, v: str, squared: str) -> None:
    method = plain("A")
    step(method, 0)
    method.kept, layer = None, method.graph.layers[2]
    method.fisher[2] = [F32(0)] * 3
    of_output = method.factors[3]
    q, e = layer.zero + 1, Tensor([u, 0, 0], power - of_output.j)  # 1 * u is what the sum over the positions may be
    method._own_gradient(2, [[], [], [], [q, q, q]], e)
    assert [bits(one) for one in method.fisher[2]] == [squared, "00000000", "00000000"]
    number = np.uint32(int(v, 16)).view(np.float32)
    assert bits(number * number) == squared


@pytest.mark.parametrize(
    ("network", "settings", "whole", "most", "said"),
    [
        ("A", {}, 1512, 224, {0: (2, 80, 756), 2: (3, 444, 108)}),
        ("A", {"momentum": 0.5}, 1512, 224, {0: (2, 160, 756), 2: (3, 888, 108)}),
        ("A", {"train": "bias"}, 108, 16, {0: (2, 8, 108), 2: (3, 12, 0)}),
        (
            "B",
            {},
            3556,
            527,
            {0: (2, 24, 1778), 1: (4, 160, 1714), 2: (2, 40, 1010), 4: (3, 444, 450), 6: (3, 84, 18)},
        ),
        ("B", STEPS["B7"], 2834, 2834, {1: (4, 144, 1714), 2: (2, 32, 1010), 4: (3, 432, 450)}),
    ],
)
def test_costs(network: str, settings: dict[str, Any], whole: int, most: int, said: dict[int, Any]) -> None:
    method = plain(network, **settings)
    assert (method.whole_work(), method.most_work) == (whole, most)
    assert {i: (method.share(i), method.bytes_of(i), method.work_of({i})) for i in method.candidates} == said


def test_budgets_in_which_nothing_fits_are_refused() -> None:
    with pytest.raises(ValueError, match="^memory_budget: the least layer needs 80$"):
        plain("A", memory_budget=79)
    for others in ({"blocks": 1, "work_budget": 137}, {"memory_budget": 80}):
        with pytest.raises(ValueError, match="^work_budget: the least work is 756$"):
            plain("A", **others)
    for taken in ({"memory_budget": 80, "work_budget": 256}, {"blocks": 1, "work_budget": 138}):
        method = plain("A", **taken)
        step(method, 0)
        assert method.kept is not None and list(method.kept) == [0]


@pytest.mark.parametrize(("budget", "selected", "arena"), [(400, 400, 4464), (2**32 - 1, 1504, 5568)])
def test_memory(budget: int, selected: int, arena: int) -> None:
    """What is not kept for all of training is placed as with bp."""
    method = plain("B", momentum=0.9, memory_budget=budget)
    bp = Int8Bp.on(method.graph, "qas", batch=3, momentum=0.9).plan.memory(3)
    kept = {buffer.name: buffer.size for buffer in bp.standing if not buffer.name.startswith(("grad", "velocity"))}
    assert kept == {"file": 1016, "labels": 8, "samples": 96}
    fisher = [up(4 * method.graph.layers[index].channels, 8) for index in method.candidates]
    most = sum(method.bytes_of(index) for index in method.candidates)
    assert (fisher, up(min(budget, most), 8), bp.layout.size) == ([16, 16, 16, 24, 16], selected, 2856)
    assert sum(kept.values()) + sum(fisher) + selected + bp.layout.size == arena


def test_all_tensors_after_each_step() -> None:
    method = plain("B", work_budget=256)
    for number, said in enumerate((
        "14329051 7012A0A7 7FCDBEDA 33F7A8C8 F7FB6ED9 2B1180D6 D0A215BA 49DAF0CE B1E8C9B8 F3BFF7F7",
        "5A83C79D 812E631B AC0B060E 50B7A7FE CB8D2B67 7A15515D 4B3FBF7D FCD42424 E783E664 A177CABE",
        "72ACFC20 896434DE 1A0E756B B621CC6B 36E02E55 6F56BD1A C85D3F03 2CAB4749 A3881189 CF3EBE78",
    )):  # fmt: skip
        step(method, number)
        assert digests(method) == said.split()


def test_the_weights_of_a_layer_after_each_step() -> None:
    method = plain("A", work_budget=256)
    for number, said in enumerate((
        "39 76 113 -103 -66 -29 8 45 82 119 -97 -60 -23 14 51 88 125 -91 0 1536 512 -512",
        "35 71 114 -104 -63 -29 8 44 79 114 -99 -62 -25 15 54 87 121 -89 0 1536 179 -206",
        "32 68 118 -106 -59 -28 8 44 76 108 -103 -65 -29 14 55 83 117 -87 0 1536 222 -1093",
    )):  # fmt: skip
        step(method, number)
        own = method.own[0]
        assert own is not None
        untouched = "-121 -84 -47 -10 27 64 101 -115 -78 -41 -4 33 70 107 -109 -72 -35 2"
        assert own.weights + own.bias == [int(word) for word in f"{untouched} {said}".split()]
