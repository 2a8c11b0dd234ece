"""The oracle of `float32` and ElasticZO on it against the test vectors of docs/arithmetic-float32.md, section 13."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import xxhash

from hil.training.graph.graph import Graph
from reference.oracle_graphs import network_a, network_b, text_samples
from tests.oracle import elasticzo_fp32, float32
from tests.oracle.elasticzo_fp32 import PlainElasticZoFp32
from tests.oracle.numbers import F32, exp32, log32, mix32, start

TEXT = Path(__file__).resolve().parents[3] / "docs" / "arithmetic-float32.md"


@dataclass(frozen=True)
class Chosen:
    """Settings of a step; the defaults are those of section 13."""

    partition: int = 0
    epsilon: float = float(np.float32(0.001))
    eta: float = float(np.float32(0.05))
    g_clip: float = 2.0
    seed: int = 1


def floats(hexes: str) -> list[np.float32]:
    """Return the binary32 numbers of bit patterns."""
    return [np.uint32(int(one, 16)).view(np.float32) for one in hexes.split()]


def hexed(values: list[np.float32]) -> str:
    """Return bit patterns of binary32 numbers as the text writes them."""
    return " ".join(f"{int(np.float32(value).view(np.uint32)):08X}" for value in values)


def digest(values: list[np.float32]) -> str:
    """Return XXH32 of a tensor as the text writes it."""
    return f"{xxhash.xxh32_intdigest(np.array(values, '<f4').tobytes()):08X}"


def test_the_table_of_quantiles() -> None:
    assert xxhash.xxh32_intdigest(np.array(elasticzo_fp32.TABLE, "<i4").tobytes()) == 0x30C32DF0
    said = TEXT.read_text(encoding="utf-8").split("0x30C32DF0.")[1].split("Properties")[0]
    assert [int(word) for word in said.split()] == elasticzo_fp32.TABLE
    assert all(a > b for a, b in pairwise(elasticzo_fp32.TABLE))


def test_random_numbers() -> None:
    words = "2EB9D4EF  D9467FB0  578C91D6  C8903405  099C3847  65325866  41311EBD  309DBD86"
    z = [-2795655, 400245, 1992588, -576713, -4361752, 1782945, -2389190, 2748837]
    key = start(Chosen(), 0, 1)
    assert key == 0x9264E314
    assert [mix32(key ^ (0x9E3779B9 * i & 0xFFFFFFFF)) for i in range(8)] == [int(word, 16) for word in words.split()]
    assert elasticzo_fp32.draws(Chosen(), 0, 0, 8) == z


@pytest.mark.parametrize(
    ("word", "z"),
    [
        (0x00000000, 13288767),
        (0x00000001, -13288767),
        (0x00000002, 12929125),
        (0x7FFFFFFF, -1414207),
        (0x80000000, 1414200),
        (0xFFFFFFFE, 11),
        (0x12345678, 3784463),
    ],
)
def test_z_of_other_words(word: int, z: int) -> None:
    assert elasticzo_fp32.normal(word) == z


def test_moving() -> None:
    z = elasticzo_fp32.draws(Chosen(), 0, 0, 8)
    eps, eta, g = floats("3A83126F 3D4CCCCD 3FC00000")
    assert hexed([eps * F32(2.0**-21)]) == "3003126F"
    assert hexed([eps - eta * g]) == "BD978D50"
    states = [floats("3F000000 BE800000 3E000000 3F800000 BF800000 00000000 3D000000 40000000")]
    for c in (eps, F32(-2) * eps, eps - eta * g):
        states.append(elasticzo_fp32.moved(states[-1], z, c))
    assert [hexed(state) for state in states[1:]] == [
        "3EFF5146 BE7FCDF8 3E00F913 3F7FEDFA BF804427 3A5EDE3E 3CF6AACF 4000157A",
        "3F00575D BE801904 3DFE0DDB 3F800903 BF7F77B2 BA5EDE3E 3D04AA98 3FFFD50D",
        "3F199851 BE875426 3D5C1DF4 3F82A3D6 BF581125 BD829638 3DEEFD50 3FF36AB5",
    ]
    still = elasticzo_fp32.moved(states[2], z, eps - eta * F32(0))
    assert hexed(still) == "3F000000 BE800000 3E000000 3F800000 BF800000 00000000 3CFFFFFF 40000000"


def test_exp32_and_log32() -> None:
    x = floats("00000000 B5800000 BF000000 BF800000 C1200000 C2ADFAE1 C2AE0000 C2AE3333")
    assert hexed([exp32(one) for one in x]) == "3F800000 3F7FFFF0 3F1B4598 3EBC5AB2 383E6BCE 00B503B6 00B33687 00000000"
    x = floats("3F800000 3F800001 3FB504F3 3FB504F4 40000000 40200000 41200000 44800000")
    assert hexed([log32(one) for one in x]) == "00000000 34000000 3EB17218 3EB17219 3F317218 3F6A9208 40135D8E 40DDCE9E"


@pytest.mark.parametrize(
    ("label", "loss", "error"),
    [(0, "3FF7C294", "BF5B0CEE 3CCD77AD 3F54A130"), (2, "3E3E14A1", "3E13CC47 3CCD77AD BE2D7B40")],
)
def test_loss(label: int, loss: str, error: str) -> None:
    found = float32.loss_and_error(floats("3FA00000 BF000000 40400000"), label)
    assert (hexed([found[0]]), hexed(found[1])) == (loss, error)


def test_the_order_of_a_sum() -> None:
    graph = network_a()
    last = replace(graph.layers[-1], in_shape=(1, 1, 6), out_shape=(1, 1, 1))
    own = float32.Own(floats("3F982B9B BF81DA18 3F2AABC2 3F4B98B9 BF330B1D BE401784"), [F32(0)])
    x = floats("3FE27D58 3FDC38D8 3F5B037D 3EA9F4E0 3F91B421 BE100DB5")
    assert hexed(float32.run(last, own, [x])) == "3ED87CDE"
    assert hexed(float32.run(last, float32.Own(own.weights[::-1], own.bias), [x[::-1]])) == "3ED87CDC"


def test_subnormal_numbers() -> None:
    a, b, c, d = floats("0D800000 2BC00000 00800000 40400000")
    assert hexed([a * b, a * b + c, a * b / d]) == "00000300 00800300 00000100"


def test_a_pass_of_network_a() -> None:
    graph = network_a()
    images, labels = text_samples(graph)
    own = float32.Own.of(graph)
    values = float32.forward(graph, own, images[0])
    assert [hexed(value[:4]) for value in values[:3]] == [
        "3CA0A0A1 3E109091 3E868687 3EC4C4C6",
        "3EA8A8AA 3F96A6A7 3F450506 3F3E7E7F",
        "3F450506 3F96A6A7 3F1FBFC0 3F634343",
    ]
    assert [digest(value) for value in values[:3]] == ["02A78892", "44628CA4", "606A9E4C"]
    assert hexed(values[3]) == "BEE20A0A 3F51C5C6 BE82FAFC"
    loss, error = float32.loss_and_error(values[3], labels[0])
    assert (hexed([loss]), hexed(error)) == ("3FDF82AC", "BF5357E9 3F1D9381 3E5711A0")
    g = float32.backward(graph, own, values, error, 0).own
    assert (hexed(g[0].weights[:3]), digest(g[0].weights)) == ("3EF1DB1E 3F2048BB 3EED185C", "ABBAC182")
    assert hexed(g[0].bias) == "3F9E0AB8 BF048E28"
    assert (hexed(g[2].weights[:3]), digest(g[2].weights)) == ("BF22A6CC BF78BE2F BF03E1E7", "1BA41926")
    assert hexed(g[2].bias) == "BF5357E9 3F1D9381 3E5711A0"


def test_a_pass_of_network_b() -> None:
    graph = network_b()
    images, _ = text_samples(graph)
    values = float32.forward(graph, float32.Own.of(graph), images[0])
    said = "0BA504EA B0664078 598E3233 FE772CFA 3CBA2856 3FB75FEF 815B1558 492BF96E"
    assert " ".join(digest(value) for value in values) == said
    assert hexed(values[-1]) == "3E4A4D48 BEAF73EC BDAD95C0"


STEPS = """\
A 0 4019DE9F 4019DE9F - 901130D9 10D8ECB7 99B9CB10 4F7E433C 80CA927C
A 0 40093603 40093603 - A3C17CBB B084D44D 19A5505A 29A34AEE 8DFE4038
A 1 4019C852 4019F500 BF2E87AF A500EB8D 2AC0DFBD F54C88F0 01E58E96 4D56989B
A 1 400E200B 400DE9A2 3F548A27 FF9BE18C 63EBB959 70D6DDCB F3DE20F7 7C0E11BF
A 2 4019A0C3 401A1C80 BFF1AD23 9CB3CA5B 94F4F8CB EF803422 848CA84A 72A4ABBF
A 2 40076B03 40064AA1 40000000 427A2518 6BA36CEC 34791C34 1D169665 D829A128
B 0 40184C97 40184C97 - 116910FA 2B358EED 5DF6CAE7 F349E9AA 36393053
B 0 40162168 40162168 - 396FE35A 118526C4 50C8CA52 AAF46505 8B153FBA
B 2 401858DC 40184052 3EBFB61F 322C2F44 2517A63C FCF57EDF B4A1BA67 8C32C672
B 2 401530B6 401524B7 3E3B705F 7B19FD79 A5B34BCB 1B1E6A7B 9C7CAF3A 372C3DD6
B 5 40186608 4018331E 3F46E20F 4B815A15 5013DE1D 5CAFF09E 2025EC7F F2252E1B
B 5 401477C8 40147075 3DE4E1BF 0ED61F9B 6DF2D0A0 94353C04 E224A1F0 45768F11""".splitlines()


@pytest.mark.parametrize("lines", [STEPS[i : i + 2] for i in range(0, len(STEPS), 2)], ids=lambda lines: lines[0][:3])
def test_two_steps(lines: list[str]) -> None:
    name, partition = lines[0].split()[:2]
    graph: Graph = {"A": network_a, "B": network_b}[name]()
    images, labels = text_samples(graph)
    method = PlainElasticZoFp32(graph, Chosen(int(partition)))
    for step, line in enumerate(lines):
        plus, minus, sign = method.step(step, images, labels)
        digests = method.digests()
        whole = xxhash.xxh32_intdigest(b"".join(one.to_bytes(4, "little") for one in digests))
        g = "-" if partition == "0" else hexed([method.g])
        ends = [f"{one:08X}" for one in (*digests[:2], *digests[-2:], whole)]
        assert [name, partition, hexed([plus]), hexed([minus]), g, *ends] == line.split()
        assert sign == int(np.sign(plus - minus))
