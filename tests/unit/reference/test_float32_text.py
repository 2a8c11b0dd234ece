"""The test vectors of docs/arithmetic-float32.md, read from the page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import xxhash

from hil.step_digest import step_digest
from hil.training.graph.graph import Graph
from hil.training.methods.prng import mix32s, start_state
from hil.training.reference.floats import F, exp32, log32
from hil.training.reference.formats.float32.forward import values_of
from hil.training.reference.formats.float32.loss import logits_error, losses
from hil.training.reference.formats.float32.normal import KNOTS, moved, normal_of, normals
from hil.training.reference.formats.float32.sums import ordered_products, ordered_sum
from hil.training.reference.methods.elasticzo_fp32 import ElasticZoFp32Reference

from .float32_networks import network_a, network_b, samples, settings

TEXT = (Path(__file__).parents[3] / "docs" / "arithmetic-float32.md").read_text(encoding="utf-8")
VECTORS = TEXT.split("## 13. Test vectors")[1]
NETWORKS = {"A": network_a, "B": network_b}
ROW = re.compile(r"\| ([AB]) \| (\d) \| (\d) \| (\w{8}) \| (\w{8}) \| (\w{8}|-) \| ([\w ]+) \| (\w{8}) \|")


def row(name: str, part: str = VECTORS, place: int = 0) -> list[str]:
    """Return the words of a line of the page by its name."""
    return re.findall(rf"^    {re.escape(name)} +(.*)$", part, re.M)[place].split()


def numbers(words: Sequence[str]) -> np.ndarray:
    """Return binary32 numbers from their bits in hexadecimal."""
    return np.array([int(word, 16) for word in words], np.uint32).view(F)


def shown(values: np.ndarray | float) -> list[str]:
    """Return the bits of binary32 numbers in hexadecimal."""
    return [f"{bits:08X}" for bits in np.atleast_1d(np.asarray(values, F)).ravel().view(np.uint32)]


def digest(values: np.ndarray) -> str:
    return f"{xxhash.xxh32_intdigest(np.ascontiguousarray(values, '<f4').tobytes()):08X}"


def test_the_page_has_all_steps() -> None:
    assert len(ROW.findall(VECTORS)) == 12


def test_random_numbers() -> None:
    part = VECTORS.split("**Random numbers**")[1]
    start = start_state(1, 0, 1)
    assert start == 0x9264E314
    h = mix32s(np.uint32(start) ^ (np.uint32(0x9E3779B9) * np.arange(8, dtype=np.uint32)))
    assert [f"{word:08X}" for word in h] == row("h", part)
    assert [str(z) for z in normals(1, 0, 0, 8)] == row("Z", part)[:8]
    others = np.array([int(word, 16) for word in row("h", part, 1)], np.uint32)
    assert [str(z) for z in normal_of(others)] == row("Z", part, 1)[:7]


def test_the_quantiles() -> None:
    words = re.search(r"0x30C32DF0\.\n\n((?:    [\d ]+\n)+)", TEXT)
    assert words is not None and KNOTS.tolist() == [int(word) for word in words[1].split()]
    assert xxhash.xxh32_intdigest(KNOTS.astype("<i4").tobytes()) == 0x30C32DF0


@pytest.mark.parametrize("last", ["after", "g = 0"])
def test_moving(last: str) -> None:
    part, z = VECTORS.split("**Moving**")[1], normals(1, 0, 0, 8)
    eps, eta, g = numbers(["3A83126F", "3D4CCCCD", "3FC00000"])
    g = g if last == "after" else F(0)
    weights = numbers(row("before", part))
    for name, c in (("plus", eps), ("minus", F(-2) * eps), (last, eps - eta * g)):
        weights = moved(weights, z, c)
        assert shown(weights) == row(name, part), name


def test_exp_and_log() -> None:
    part = VECTORS.split("**exp32, log32**")[1]
    assert shown(exp32(numbers(row("x", part)))) == row("exp32", part)
    assert shown(log32(numbers(row("x", part, 1)))) == row("log32", part)


def test_loss() -> None:
    part = VECTORS.split("**Loss**")[1]
    logits = np.tile(numbers(["3FA00000", "BF000000", "40400000"])[:, None], 2)
    labels = np.array([0, 2])
    assert shown(ordered_sum(exp32(logits - logits.max(axis=0)))) == ["3F9A1BBC"] * 2
    found, errors = losses(logits, labels), logits_error(logits, labels)
    for place, label in enumerate(labels):
        words = row(f"y = {label}:", part)
        assert shown(found[place]) == [words[1].strip(",")]
        assert shown(errors[:, place]) == words[3:]


def test_order_of_a_sum() -> None:
    part = VECTORS.split("**Order.**")[1]
    w, x = (numbers(row(name, part)) for name in "wx")
    assert shown(ordered_products(w[None], x[:, None])) == ["3ED87CDE"]
    assert shown(ordered_products(w[None, ::-1], x[::-1, None])) == ["3ED87CDC"]


def test_subnormal_numbers() -> None:
    a, b, c, d, e = numbers(["0D800000", "2BC00000", "00000300", "00800000", "40400000"])
    assert shown(ordered_products(a.reshape(1, 1), b.reshape(1, 1))) == ["00000300"]
    assert shown(np.array([c]) + d) == ["00800300"]
    assert shown(np.array([c]) / e) == ["00000100"]


def passed(network: Graph) -> tuple[list[np.ndarray], ElasticZoFp32Reference]:
    """Return the values of sample 0 with the weights as given."""
    method = ElasticZoFp32Reference(network, settings(0))
    own = {
        index: (layer.own.weights, layer.own.bias)
        for index, layer in enumerate(network.layers)
        if layer.own is not None
    }
    return values_of(network, samples(network)[0][:1], own), method


def test_values_and_gradients_of_network_a() -> None:
    values, method = passed(network_a())
    for name, value in zip(("input", "conv2d", "max_pool"), values[:3], strict=True):
        words = row(name)
        assert [*shown(value)[:4], digest(value)] == [*words[:4], words[-1]]
    logits = row("logits")
    assert shown(values[3]) == [word.strip(";") for word in logits[:3]]
    assert shown(losses(values[3][0, 0], np.array([0]))) == [logits[4].strip(";")]
    assert shown(logits_error(values[3][0, 0], np.array([0]))) == logits[6:]
    images, labels = samples(network_a())
    gradients = method.gradients(images[:1], labels[:1])
    part = VECTORS.split("Network A:")[1]
    of_conv, of_last = row("g", part), row("g", part, 1)
    assert [*shown(gradients[0])[:3], digest(gradients[0])] == [*of_conv[2:5], of_conv[7].strip(";")]
    assert shown(gradients[1]) == of_conv[-2:]
    assert [*shown(gradients[2])[:3], digest(gradients[2])] == [*of_last[2:5], of_last[7].strip(";")]
    assert shown(gradients[3]) == of_last[-3:]


def test_values_of_network_b() -> None:
    values, _ = passed(network_b())
    found = re.search(r"Digests of values 0\.\.7.*?\n\n    ([\w ]+);  logits ([\w ]+)\n", VECTORS, re.S)
    assert found is not None
    assert [digest(value) for value in values] == found[1].split()
    assert shown(values[-1]) == found[2].split()


@pytest.mark.parametrize(("name", "partition"), [("A", 0), ("A", 1), ("A", 2), ("B", 0), ("B", 2), ("B", 5)])
def test_steps(name: str, partition: int) -> None:
    network = NETWORKS[name]()
    method, rows = ElasticZoFp32Reference(network, settings(partition)), ROW.findall(VECTORS)
    images, labels = samples(network)
    wanted = [found[2:] for found in rows if found[:2] == (name, str(partition))]
    assert [step for step, *_ in wanted] == ["0", "1"]
    for _, plus, minus, g, digests, of_step in wanted:
        found = method.step(images, labels)
        assert [*shown(found.loss_plus), *shown(found.loss_minus)] == [plus, minus]
        if g != "-":
            assert shown(method.projected(F(found.loss_plus), F(found.loss_minus), 2)) == [g]
        four = [f"{found.digests[place]:08X}" for place in (0, 1, -2, -1)]
        assert (four, f"{step_digest(found.digests):08X}") == (digests.split(), of_step)
        assert found.sign == np.sign(found.loss_plus - found.loss_minus)
