"""The NumPy form of docs/arithmetic-tinytrain.md against its test vectors (section 10)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import xxhash

from hil.errors import RigError
from hil.training.graph.graph import Graph
from hil.training.methods.graph_settings import GraphSettings
from hil.training.methods.tinytrain_costs import Costs
from hil.training.reference.formats.tflite8.backward import Tflite8Errors
from hil.training.reference.methods.tinytrain import TinyTrainReference

from .tinytrain_networks import network_a, network_b, samples

LARGEST = 2**32 - 1
ALL = {"work_budget": 256, "channels": 256, "memory_budget": LARGEST}


def chosen_settings(**others: Any) -> GraphSettings:
    return GraphSettings.of_loop("tinytrain", **{"batch": 3, "eta": 0.125, **others})


def pattern(numbers: Any) -> str:
    """Return the bits of binary32 numbers as the text writes them."""
    return " ".join(f"{one:08X}" for one in np.atleast_1d(np.asarray(numbers, np.float32)).view(np.uint32))


def whole(text: str) -> list[int]:
    return [int(one) for one in text.replace(",", " ").replace(";", " ").split()]


def ranked(graph: Graph) -> TinyTrainReference:
    """Return the reference after three samples have ranked the layers, with an unlimited work budget."""
    method = TinyTrainReference(graph, chosen_settings(ranking=2, **ALL))
    images, labels = samples(graph)
    method.step(images, np.array(labels))
    return method


@pytest.mark.parametrize(
    ("u", "power", "v", "square"),
    [
        (3, -75, "22400000", "05100000"),
        (-30000, -17, "BE6A6000", "3D5693A4"),
        (16777217, -9, "47000000", "4E800000"),
        (5, 4, "40A00000", "41C80000"),
    ],
)
def test_v_and_its_square(u: int, power: int, v: str, square: str) -> None:
    method = TinyTrainReference(network_a(), chosen_settings())
    j = method.backward.chain.of_value[1].j
    parts = np.zeros((1, 2, 2, 4))
    for place in range(4):  # u as a sum over four positions
        parts[0, place // 2, place % 2] = u // 4 + (place < u % 4)
    method._add_information(0, Tflite8Errors(parts, np.array([power - j])), np.ones_like(parts))
    assert pattern(method.information[0]) == " ".join([square] * 4)
    assert pattern(np.ldexp(np.float32(u), min(max(power, -60), 0))) == v


VALUES = {
    "A": (
        [
            "E3EBB851 D5E626CC 09954CCE 77593BDC",
            "708085AC 8809C23F 50462A11 10E78585",
            "62006222 6FEBDC49 C02C865D 8FEAACB9",
        ],
        ["29 8 -77", "18 -9 -72", "2 -76 -2"],
    ),
    "B": (
        [
            "78AC5F9C 0C0A8BF3 4269D2A1 5C5E38B1 51B99AB0 18A190DC 2F91536F A6466F48",
            "8C10B698 B8C86E72 A51C8054 96BBB1B7 0AE62C95 57A7425F C4F85FD7 FA7C530B",
            "F6C3391F F89E798C 7027D94A B1D2756B 05D6A890 B8F48A13 7584BE91 8F2E21F0",
        ],
        ["24 -12 -66", "-53 82 -22", "-35 31 -11"],
    ),
}  # fmt: skip
NETWORKS = {"A": network_a, "B": network_b}


@pytest.mark.parametrize("name", NETWORKS)
def test_the_values_of_the_samples(name: str) -> None:
    """The networks are those of the text."""
    graph = NETWORKS[name]()
    method = TinyTrainReference(graph, chosen_settings())
    digests, logits = VALUES[name]
    for image, wanted, last in zip(samples(graph)[0], digests, logits, strict=True):
        values = method.forward.clean(image[None], method.own_now())
        stored = [(one + graph.zero_of(place)).astype(np.int8) for place, one in enumerate(values)]
        assert [f"{xxhash.xxh32_intdigest(one.tobytes()):08X}" for one in stored] == wanted.split()
        assert stored[-1].ravel().tolist() == whole(last)


@dataclass(frozen=True)
class Rank:
    """A layer of the ranking: its factor, x and u of each sample, D, P and s."""

    index: int
    c: str
    j: int
    samples: tuple[tuple[int, str], ...]
    d: str
    p: str
    s: str


RANKING = {
    "A": (
        Rank(2, "3F810204", -12, ((0, "-1305 336 -231"), (0, "1530 -333 8784"), (0, "128 9196 -114")),
             "3E77D254 40A1B977 40934B86", "4120E2D0", "42F15438"),
        Rank(0, "3FC18306", -21, ((6, "1749 -4790 -11392 7197"), (8, "1656 -4284 5309 10603"),
                                  (7, "-267 16161 23157 -13280")),
             "3D3422C7 3FA24787 4022775E 40185997", "4163DAD2", "421E1302"),
    ),
    "B": (
        Rank(6, "3F810204", -11, ((0, "-288 -144 0"), (0, "0 10414 2794"), (0, "-70 -310 -88")),
             "3CAB9200 41CF13D4 3FEE7848", "41E1A95A", "465FA58C"),
        Rank(4, "3FC18306", -20, ((4, "-1898 -4532 -2227 -3372 -224 5166"), (6, "270 24258 32565 7844 5125 12847"),
                                  (2, "-2432 -14740 -7182 -3936 -2106 -21297")),
             "3A9CD048 400CCE53 407CF5BB 3E6DA75B 3DC88C03 3F20AE0F", "418207A7", "418207A7"),
        Rank(2, "3F912244", -27, ((12, "-1157 6102 903 -2733"), (13, "17139 19197 16440 18509"),
                                  (11, "-4410 1979 -4365 -2623")),
             "3F8CCED0 3FB4481F 3F818AA1 3FA473A9", "40C5B164", "43677093"),
        Rank(1, "3FD9B366", -34, ((19, "-6267 483 7824 924"), (20, "12691 -2803 7174 3221"),
                                  (18, "-1739 -727 -2679 -982")),
             "3F2324F8 3CF28F08 3E803593 3D227BEB", "40312A45", "41B85CC9"),
        Rank(0, "3F912244", -27, ((14, "-2179 138 1636 -161"), (15, "5902 306 37 2944"), (11, "-715 -621 -4765 -7328")),
             "40096A55 3BC31FB4 3D395914 3F078CB4", "4060722A", "43DAF761"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RANKING)
def test_factors_and_information_of_every_sample(name: str) -> None:
    graph = NETWORKS[name]()
    method = TinyTrainReference(graph, chosen_settings())
    images, labels = samples(graph)
    values = method.forward.clean(images, method.own_now())
    errors = dict(method.backward.run(values, method.own_now(), np.array(labels)))
    for rank in RANKING[name]:
        factor = method.backward.chain.of_value[rank.index + 1]
        assert (pattern(factor.c), factor.j) == (rank.c, rank.j)
        its = errors[rank.index]
        assert its.exponents.tolist() == [x for x, _ in rank.samples]
        u = (values[rank.index + 1][:, 0].astype(np.int64) * its.values.astype(np.int64)).sum(axis=(1, 2))
        assert u.tolist() == [whole(text) for _, text in rank.samples]


@pytest.mark.parametrize("name", RANKING)
def test_scores(name: str) -> None:
    method = ranked(NETWORKS[name]())
    scores = method.scores()
    for rank in RANKING[name]:
        assert pattern(method.information[rank.index]) == rank.d
        assert pattern(method.potential(rank.index)) == rank.p
        assert pattern(scores[rank.index]) == rank.s
    assert sorted(scores, key=lambda index: -scores[index]) == {"A": [2, 0], "B": [6, 0, 2, 1, 4]}[name]


COSTS: list[tuple[str, dict[str, Any], int, int | None, dict[int, str]]] = [
    ("A", {}, 1512, 224, {0: "2 80 756", 2: "3 444 108"}),
    ("A", {"momentum": 0.5}, 1512, 224, {0: "2 160 756", 2: "3 888 108"}),
    ("A", {"train": "bias"}, 108, 16, {0: "2 8 108", 2: "3 12 0"}),
    ("B", {}, 3556, 527, {0: "2 24 1778", 1: "4 160 1714", 2: "2 40 1010", 4: "3 444 450", 6: "3 84 18"}),
    ("B", {"blocks": 6, "train_bias": 0}, 2834, None, {1: "4 144 1714", 2: "2 32 1010", 4: "3 432 450"}),
]


@pytest.mark.parametrize(("name", "others", "of_all", "most", "layers"), COSTS)
def test_costs(name: str, others: dict[str, Any], of_all: int, most: int | None, layers: dict[int, str]) -> None:
    costs = Costs(NETWORKS[name](), chosen_settings(**others))
    assert costs.whole == of_all and most in (None, costs.most_work)
    found = {index: f"{one.kept} {one.size} {costs.work([index])}" for index, one in costs.candidates.items()}
    assert found == layers


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ({"work_budget": 256, "memory_budget": 79}, r"memory_budget is 79 bytes.* conv1, needs 80: choose at least 80"),
        ({"blocks": 1, "work_budget": 137}, r"work_budget is 137, .* allows 751 .* conv1, needs 756: .* least 138"),
    ],
)  # fmt: skip
def test_what_is_refused_is_taken_with_one_more(others: dict[str, Any], said: str) -> None:
    with pytest.raises(RigError, match=said):
        TinyTrainReference(network_a(), chosen_settings(**others))
    name = list(others)[-1]
    assert TinyTrainReference(network_a(), chosen_settings(**others | {name: others[name] + 1})).weights


def test_a_budget_of_memory_that_fits_needs_one_of_work() -> None:
    """A with memory_budget 80: only layer 0 fits, and the default work_budget does not take it."""
    with pytest.raises(RigError, match=r"work_budget is 38, .* allows 224 .* conv1, needs 756"):
        TinyTrainReference(network_a(), chosen_settings(memory_budget=80))


@dataclass(frozen=True)
class Case:
    """A row of the three steps: network, settings, what is kept, losses and digests of each step, work of step 2."""

    name: str
    kept: dict[int, str]
    losses: str
    steps: str
    macs: int
    runs: int
    given: dict[str, Any] = field(default_factory=dict)


CASES = [
    Case("A1", {0: "0 1 2 3", 2: "0 1 2"}, "40D8973E 40D8973E 40A2E19E", "EAE40347 7896746F 36234733", 8748, 18,
         ALL | {"momentum": 0.9}),
    Case("A2", {0: "2 3", 2: "0 1 2"}, "40D8973E 40D8973E 40AA95FA", "EAE40347 1271920E 0A3AC259", 6804, 18,
         {"work_budget": 256}),
    Case("A3", {2: "0 1 2"}, "40D8973E 40D8973E 40B4A130", "EAE40347 555ABA60 41F1EF2F", 4536, 12),
    Case("A4", {0: "2 3"}, "40D8973E 40D8973E 40CFE670", "EAE40347 94594E5C ECCDF4AC", 6480, 18,
         {"work_budget": 256, "momentum": 0.5, "memory_budget": 800}),
    Case("A5", {0: "2 3", 2: "0 1 2"}, "3EE21B77 404D8730 404763DE", "EAE40347 EAE40347 67B47B3D", 2268, 6,
         {"batch": 1, "ranking": 2, "work_budget": 256, "momentum": 0.5}),
    Case("A6", {0: "2 3", 2: "0 1 2"}, "40D8973E 40D8973E 40D450ED", "04555E81 5984944F 7A876B97", 4536, 18,
         {"train": "bias", "work_budget": 256, "eta": 0.5}),
    Case("B1", {0: "0 1 2 3", 1: "0 1 2 3", 2: "0 1 2 3", 4: "0 1 2 3 4 5", 6: "0 1 2"},
         "40D6151F 40D6151F 402AAB3E", "F0BB1368 DBE67B22 54055ABF", 16194, 42, ALL | {"momentum": 0.9}),
    Case("B2", {0: "0 3", 1: "0 1 2 3", 2: "1 3", 4: "1 2 5", 6: "0 1 2"},
         "40D6151F 40D6151F 40265312", "F0BB1368 2FDAA8AA 31306338", 14322, 42, {"work_budget": 256}),
    Case("B3", {2: "1 3", 4: "1 2 5", 6: "0 1 2"}, "40D6151F 40D6151F 402385A8", "F0BB1368 10B11584 2CB2F77D", 9906, 36,
         {"work_budget": 128}),
    Case("B4", {4: "1 2 5", 6: "0 1 2"}, "40D6151F 40D6151F 4022BAED", "F0BB1368 E9DD222B E74700BC", 6930, 30),
    Case("B5", {0: "0", 2: "1", 6: "0 1 2"}, "40D6151F 40D6151F 4027D586", "F0BB1368 B7D7AD3F DB10AD9E", 11010, 42,
         {"channels": 64, "work_budget": 256, "momentum": 0.9, "memory_budget": 400}),
    Case("B6", {2: "1 3", 6: "0 1 2"}, "40D6151F 40D6151F 4064A619", "F0BB1368 CED53241 4D151427", 8610, 36,
         {"qas": 0, "eta": 300.0, "work_budget": 100}),
    Case("B7", {1: "0 1 2 3", 2: "1 3", 4: "1 2 5"}, "40D6151F 40D6151F 40B1C1DA", "D40E904E 4CFA1C72 5D95E677",
         12348, 39, {"blocks": 6, "work_budget": 256, "train_bias": 0}),
    Case("B8", {0: "0", 1: "0 1 2 3", 2: "1", 4: "2", 6: "0 1 2"}, "40D6151F 40D6151F 40D6151F",
         "F0BB1368 F0BB1368 011C5314", 13170, 42, {"ranking": 2, "work_budget": 200, "channels": 1}),
]  # fmt: skip
BY_NAME = {case.name: case for case in CASES}


def trained(case: Case) -> tuple[TinyTrainReference, list[Any], list[list[np.ndarray]]]:
    """Return the method after three steps, the outcome of each, and the weights after each."""
    graph = NETWORKS[case.name[0]]()
    images, labels = samples(graph)
    method = TinyTrainReference(graph, chosen_settings(**case.given))
    outcomes, weights = [], []
    for step in range(3):
        some = [step] if method.settings.batch == 1 else [0, 1, 2]
        outcomes.append((method.step(images[some], np.array(labels)[some]), method.last_work()))
        weights.append([tensor.copy() for tensor in method.weights])
    return method, outcomes, weights


def step_digest(digests: tuple[int, ...]) -> int:
    return xxhash.xxh32_intdigest(np.array(digests, "<u4").tobytes())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_three_steps(case: Case) -> None:
    method, outcomes, _ = trained(case)
    assert {index: " ".join(map(str, kept)) for index, kept in method.chosen.items()} == case.kept
    assert pattern([outcome.loss_plus for outcome, _ in outcomes]) == case.losses
    assert {(outcome.loss_minus, outcome.sign) for outcome, _ in outcomes} == {(0.0, 0)}
    assert " ".join(f"{step_digest(outcome.digests):08X}" for outcome, _ in outcomes) == case.steps
    work = outcomes[2][1]
    assert (work.macs, work.layer_runs) == (case.macs, case.runs)


@pytest.mark.parametrize(("name", "macs", "runs"), [("A2", 4536, 18), ("B2", 10668, 42), ("B7", 8940, 39)])
def test_a_ranking_step(name: str, macs: int, runs: int) -> None:
    method, outcomes, _ = trained(BY_NAME[name])
    outcome, work = outcomes[0]
    assert (work.macs, work.layer_runs) == (macs, runs)
    untouched = TinyTrainReference(NETWORKS[name[0]](), method.settings)
    assert outcome.digests == untouched.digests()


def test_the_digests_of_every_tensor() -> None:
    _, outcomes, _ = trained(BY_NAME["B2"])
    assert [" ".join(f"{one:08X}" for one in outcome.digests) for outcome, _ in outcomes] == [
        "14329051 7012A0A7 7FCDBEDA 33F7A8C8 F7FB6ED9 2B1180D6 D0A215BA 49DAF0CE B1E8C9B8 F3BFF7F7",
        "5A83C79D 812E631B AC0B060E 50B7A7FE CB8D2B67 7A15515D 4B3FBF7D FCD42424 E783E664 A177CABE",
        "72ACFC20 896434DE 1A0E756B B621CC6B 36E02E55 6F56BD1A C85D3F03 2CAB4749 A3881189 CF3EBE78",
    ]


def test_the_weights_of_a_layer() -> None:
    _, _, weights = trained(BY_NAME["A2"])
    still = [whole("-121 -84 -47 -10 27 64 101 -115 -78"), whole("-41 -4 33 70 107 -109 -72 -35 2")]
    moved = [
        ("39 76 113 -103 -66 -29 8 45 82", "119 -97 -60 -23 14 51 88 125 -91", "512 -512"),
        ("35 71 114 -104 -63 -29 8 44 79", "114 -99 -62 -25 15 54 87 121 -89", "179 -206"),
        ("32 68 118 -106 -59 -28 8 44 76", "108 -103 -65 -29 14 55 83 117 -87", "222 -1093"),
    ]
    for (taps, biases, *_), (second, third, last) in zip(weights, moved, strict=True):
        assert taps.reshape(4, -1).tolist() == [*still, whole(second), whole(third)]
        assert biases.tolist() == [0, 1536, *whole(last)]
