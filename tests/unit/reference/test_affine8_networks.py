"""One sample of the networks of docs/arithmetic-affine8.md, sections 10 and 11, to the last bit."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from hil.training.graph.graph import Graph
from hil.training.reference.formats.affine8.layer import RunnableLayer
from hil.training.reference.formats.float32.forward import values_of
from reference.fqt_sample import Sample, bits, digest

from .affine8_networks import F32, network_a, network_b, network_c, samples


def errors(text: str) -> list[tuple[str, ...]]:
    """Return errors as the text has them: a digest, and scale and zero point in brackets."""
    found = re.findall(r"([0-9A-F]{8})(?: \(([0-9A-F]{8}), (-?\d+)\))?", text)
    return [one if one[1] else one[:1] for one in found]


@pytest.mark.parametrize(
    ("rounding", "values", "logits", "loss", "logit_error", "backward", "layers"),
    [
        (
            "nearest", "2DA2DF28 7A5C3A9E 2F8ADA15 9B63A73E", [-120, 34, 107], "3FD49D98", [-128, 104, 127],
            "EFC120C0 (3BA38A96, 34)  3A77E742 (3B5089E8, 31)  CCADB1F3 (3B5089E8, 31)",
            {0: ("45DD4FF7", "BA4B1CEA", "3DDD9286 3F0668E3"), 2: ("4B562DFF", "F2233905", "BF4EFB66 3EB2DF94 3EEDA562")},
        ),
        (
            "floor", "2DA2DF28 FBA70127 61B343B3 FE996B73", [-120, 30, 106], "3FD3B036", None,
            "E4A25A6D (3BA38FCF, 34)  BCFA0910 (3B4FAAEE, 31)  542A7760 (3B4FAAEE, 31)",
            {0: ("F4EA84F3", "2924334A", "3DD62845 3F0439D6"), 2: ("568EF81C", "31B3E967", "BF4F0202 3EB0570B 3EEB1EBA")},
        ),
    ],
)  # fmt: skip
def test_network_a(
    rounding: str, values: str, logits: list[int], loss: str, logit_error: list[int] | None, backward: str,
    layers: dict[int, tuple[str, str, str]],
) -> None:  # fmt: skip
    found = Sample.of(network_a(rounding=rounding))
    assert found.values == values.split() and found.logits.tolist() == logits and found.loss == loss
    assert found.errors == errors(backward)
    if logit_error:
        assert found.logit_error.tolist() == logit_error
    for index, (g, total, biases) in layers.items():
        assert (found.g[index], digest(found.sums[index]), bits(found.biases[index])) == (g, total, biases.split())


def test_the_scales_of_network_a() -> None:
    graph = network_a()
    for index, factor, b_q in ((0, (49932, 24), [0, 24480]), (2, (43008, 23), [12434, 0, 18651])):
        layer = RunnableLayer(graph, graph.layers[index])
        assert tuple(map(int, layer._factor)) == factor and layer._bias.tolist() == b_q


def test_network_c() -> None:
    found = Sample.of(network_c())
    assert found.values == ["2DA2DF28", "7A5C3A9E", "2F8ADA15", "9FA7ED24", "74A0EBD9"]
    assert bits(found.logits) == ["BD01EE00", "3F126F0F", "3F5BDBDB"] and found.loss == "3FD4A0AE"
    assert found.errors == errors("45C1D460  9E9D70CF  FF142E90 (3B50319D, 32)  5EB43324 (3B50319D, 32)")
    assert found.g == {0: "409FA03D"}
    assert digest(found.sums[0]) == "03C5C94B" and bits(found.biases[0]) == ["3DD0319D", "3F055FC9"]
    assert digest(found.sums[3]) == "B2BEE2D2" and digest(found.biases[3]) == "45C1D460"


def test_network_b() -> None:
    graph = network_b()
    found = Sample.of(graph)
    assert found.values == [
        "5C8FD90C",
        "B5F0CE7A",
        "D6A3988F",
        "7D2D3258",
        "A5C81F63",
        "DB32A0A8",
        "1075E2F8",
        "418B61CD",
        "FAF7996B",
        "0EBADE1A",
        "7EE9746B",
        "CB6B7EC2",
        "D062903E",
    ]
    assert found.logits.tolist() == [-58, 118, -111] and found.loss == "3FA3D740"
    add = RunnableLayer(graph, graph.layers[8])
    assert add._shares == [2782, 16384] and tuple(map(int, add._factor)) == (58871, 30)
    assert found.errors == errors(
        "38827150 (3B9B5F04, 24) 0D6D823E (3AFAAE4A, 33) 4280BEB1 (39FAAE4A, 33) C7EED97C (39DF7B6D, -14) "
        "C7EED97C (39DF7B6D, -14) 7920CE9A (398B988E, 10) 27265CC0 (3885E1D5, -128) 3FE27D2D (37994943, -85) "
        "13D49EC0 (375A0A46, 16) 92E8F4C3 (38C379AD, 3) F9CC5571 (39E88107, -12) 178C9308 (39B8A32A, -37)"
    )
    weighted = (0, 2, 4, 5, 7, 9, 11)
    g, total, biases = (
        text.split()
        for text in (
            "EA75CA60 21FBB619 CF375901 9FEE6068 99A2171D 93210F43 70745EA7",
            "40095751 6533D03A 25133718 70CA6895 E72C7FA1 11925679 AB4B2C5C",
            "F99E4FA5 04D40123 08C55449 144F4819 C523404D 3ECD50B1 9DEA7722",
        )
    )
    assert [found.g[index] for index in weighted] == g
    assert [digest(found.sums[index]) for index in weighted] == total
    assert [digest(found.biases[index]) for index in weighted] == biases


def test_network_b_in_float32() -> None:
    found = Sample.of(network_b(F32))
    assert found.values == [
        "2F9D2308",
        "94C723A9",
        "1BE77367",
        "A4A64E1A",
        "03734C5B",
        "E475A210",
        "8EB09B08",
        "AA40D693",
        "A1F6A97B",
        "71F72D40",
        "7170D22D",
        "F7B95FEE",
        "092F2F87",
    ]
    assert found.loss == "3FA4542C"
    assert found.errors == errors(
        "0205819F F1F36B27 3CE3A334 8D797ABF 8D797ABF 8614D942 32E36AE7 AD54AE4F 5E992850 05CFC71F 298B4B98 E351B51B"
    )
    total = "0DE9EBE9 E33A10A6 DC5ADCF4 554B9ADE 5E22512D 59CD98CE BFA2F21A"
    assert [digest(found.sums[index]) for index in sorted(found.sums)] == total.split()


def test_gradients_in_affine8_are_those_in_float32() -> None:
    """Section 10: cosine at least 0.9985 and size within 2.1 % (2.102 are found) for every tensor."""
    quantized, floating = Sample.of(network_b()), Sample.of(network_b(F32))
    for of in ("sums", "biases"):
        for index, g in getattr(quantized, of).items():
            a, b = g.reshape(-1).astype(float), getattr(floating, of)[index].reshape(-1).astype(float)
            norms = np.linalg.norm(a), np.linalg.norm(b)
            assert a @ b / (norms[0] * norms[1]) >= 0.9985 and abs(norms[0] / norms[1] - 1) <= 0.02105, (of, index)


def test_gradients_in_float32_are_central_differences() -> None:
    """Section 10: equal in four digits, of what moves the loss; the loss is that of binary64."""
    graph = network_b(F32)
    found = Sample.of(graph)
    images, labels = samples(graph)

    def loss(index: int, part: int, element: int, change: float) -> float:
        own = {i: [layer.own.weights, layer.own.bias] for i, layer in enumerate(graph.layers) if layer.own}
        moved = own[index][part].astype(np.float64).reshape(-1)
        moved[element] += change
        own[index][part] = moved.reshape(own[index][part].shape)
        return loss_in_binary64(graph, own, images[:1], int(labels[0]))

    for index, part, of in ((0, 0, "sums"), (2, 0, "sums"), (5, 0, "sums"), (7, 1, "biases"), (9, 0, "sums")):
        g = getattr(found, of)[index].reshape(-1)
        for element in np.argsort(-np.abs(g))[:3]:
            change = 2.0**-16
            slope = (loss(index, part, element, change) - loss(index, part, element, -change)) / (2 * change)
            assert slope == pytest.approx(float(g[element]), rel=2e-4)


def loss_in_binary64(graph: Graph, own: dict[int, list[np.ndarray]], images: np.ndarray, label: int) -> float:
    """Return the loss with `values_of` in binary64, whose only numbers of a type are those of `F`."""
    from hil.training.reference.formats.float32 import forward, sums

    kept = forward.F, sums.F
    forward.F = sums.F = np.float64
    try:
        logits = values_of(graph, images, {index: tuple(pair) for index, pair in own.items()})[-1][0, 0, :, 0]
    finally:
        forward.F, sums.F = kept
    assert logits.dtype == np.float64
    logits = logits - logits.max()
    return float(np.log(np.exp(logits).sum()) - logits[label])


def test_a_bias_that_moves_changes_what_is_folded() -> None:
    """A check of the check: another bias is another output."""
    graph = network_a()
    layer = graph.layers[0]
    other = replace(layer, own=replace(layer.own, bias=layer.own.bias + np.float32(0.1)))
    assert Sample.of(replace(graph, layers=(other, *graph.layers[1:]))).values != Sample.of(graph).values
