"""The oracle of affine8 against the passes of the networks in docs/arithmetic-affine8.md, section 11."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import affine8
from tests.oracle.affine8_backward import Gradients, OwnGradient, backward
from tests.oracle.affine8_network import Network
from tests.oracle.affine8_numbers import Tensor, factor, float_of
from tests.oracle.numbers import F32

from .oracle_affine8_networks import (
    digest,
    hexed,
    in_float32,
    network_a,
    network_b,
    text_samples,
    value_digests,
)

A_VALUES = "2DA2DF28 7A5C3A9E 2F8ADA15"


def passed(network: Network) -> tuple[list[list], np.float32, list[np.float32], Gradients]:
    """Return the values, the loss, d and the gradients of sample 0, all layers trained."""
    image, label = text_samples(network)[0][0], 0
    values = affine8.forward(network, image)
    loss, d = affine8.loss_and_error(network, values[-1], label)
    return values, loss, d, backward(network, values, affine8.logits_error(network, d), 0)


def errors(found: Gradients) -> list[str]:
    """Return the digests of the errors from the logits back, with scale and zero point in affine8."""
    lines = []
    for value in sorted(found.errors, reverse=True):
        e = found.errors[value]
        lines.append(f"{digest(e.q, '<i1')} ({hexed([e.s])}, {e.z})" if isinstance(e, Tensor) else digest(e, "<f4"))
    return lines


def summed(own: OwnGradient, exact: bool) -> tuple[list[np.float32], list[np.float32]]:
    """Return G of weights and biases after one sample."""
    zero = F32(0)
    if not exact:
        return [zero + g for g in own.weights], [zero + g for g in own.bias]
    return [zero + own.c * float_of(g) for g in own.weights], [zero + own.c_bias * float_of(g) for g in own.bias]


@pytest.mark.parametrize(
    ("rounding", "values", "logits", "loss", "d", "said", "own"),
    [
        (
            "nearest", A_VALUES + " 9B63A73E", [-120, 34, 107], "3FD49D98", "BF4F603F 3EB1E4D1 3EECDBAE",
            "EFC120C0 (3BA38A96, 34)  3A77E742 (3B5089E8, 31)  CCADB1F3 (3B5089E8, 31)",
            {0: "45DD4FF7 BA4B1CEA 3DDD9286 3F0668E3", 2: "4B562DFF F2233905 BF4EFB66 3EB2DF94 3EEDA562"},
        ),
        (
            "floor", "2DA2DF28 FBA70127 61B343B3 FE996B73", [-120, 30, 106], "3FD3B036", "BF4F05BE 3EB065FD 3EEDA580",
            "E4A25A6D (3BA38FCF, 34)  BCFA0910 (3B4FAAEE, 31)  542A7760 (3B4FAAEE, 31)",
            {0: "F4EA84F3 2924334A 3DD62845 3F0439D6", 2: "568EF81C 31B3E967 BF4F0202 3EB0570B 3EEB1EBA"},
        ),
    ],
)  # fmt: skip
def test_network_a(rounding: str, values: str, logits: list[int], loss: str, d: str, said: str, own: dict) -> None:
    network = network_a(rounding)
    found_values, found_loss, found_d, found = passed(network)
    assert value_digests(network, found_values) == values
    assert (found_values[-1], hexed([found_loss]), hexed(found_d)) == (logits, loss, d)
    assert errors(found) == said.split("  ")
    for index, one in own.items():
        weights, bias = summed(found.own[index], True)
        assert " ".join([digest(found.own[index].weights, "<i4"), digest(weights, "<f4"), hexed(bias)]) == one


def test_the_sums_of_network_a() -> None:
    network = network_a()
    values, _, _, found = passed(network)
    first, last = network.layers[0], network.layers[2]
    assert affine8.bias_steps(first, network.scale(0)[0]) == [0, 24480]
    assert affine8.bias_steps(last, network.scale(2)[0]) == [12434, 0, 18651]
    for layer, by in ((first, (49932, 24)), (last, (43008, 23))):
        value = network.layers.index(layer) + 1
        _, unit = affine8.accumulated(network, layer, [values[layer.reads[0]]])
        assert factor(unit / network.scale(value)[0]) == by
    logits = found.errors[3]
    assert isinstance(logits, Tensor) and logits.q == [-128, 104, 127]


def test_network_c() -> None:
    network = network_a(cast=True)
    values, loss, _, found = passed(network)
    assert value_digests(network, values) == A_VALUES + " 9FA7ED24 74A0EBD9"
    assert (hexed(values[-1]), hexed([loss])) == ("BD01EE00 3F126F0F 3F5BDBDB", "3FD4A0AE")
    said = "45C1D460  9E9D70CF  FF142E90 (3B50319D, 32)  5EB43324 (3B50319D, 32)"
    assert errors(found) == said.split("  ")
    weights, bias = summed(found.own[0], True)
    assert [digest(found.own[0].weights, "<i4"), digest(weights, "<f4")] == ["409FA03D", "03C5C94B"]
    assert hexed(bias) == "3DD0319D 3F055FC9"
    weights, bias = summed(found.own[3], False)
    assert [digest(weights, "<f4"), digest(bias, "<f4")] == ["B2BEE2D2", "45C1D460"]


def test_network_b() -> None:
    network = network_b()
    values, loss, _, found = passed(network)
    assert value_digests(network, values) == (
        "5C8FD90C B5F0CE7A D6A3988F 7D2D3258 A5C81F63 DB32A0A8 1075E2F8 418B61CD FAF7996B 0EBADE1A 7EE9746B CB6B7EC2 "
        "D062903E"
    )
    assert (values[-1], hexed([loss])) == ([-58, 118, -111], "3FA3D740")
    (s_a, _), (s_b, _) = network.scale(8), network.scale(2)
    assert affine8.add_factors(s_a, s_b)[1:] == (2782, 16384)
    _, unit = affine8.accumulated(network, network.layers[8], [values[8], values[2]])
    assert factor(unit / network.scale(9)[0]) == (58871, 30)
    assert errors(found) == [
        "38827150 (3B9B5F04, 24)", "0D6D823E (3AFAAE4A, 33)", "4280BEB1 (39FAAE4A, 33)",
        "C7EED97C (39DF7B6D, -14)", "C7EED97C (39DF7B6D, -14)", "7920CE9A (398B988E, 10)",
        "27265CC0 (3885E1D5, -128)", "3FE27D2D (37994943, -85)", "13D49EC0 (375A0A46, 16)",
        "92E8F4C3 (38C379AD, 3)", "F9CC5571 (39E88107, -12)", "178C9308 (39B8A32A, -37)",
    ]  # fmt: skip
    own = [found.own[index] for index in (0, 2, 4, 5, 7, 9, 11)]
    sums = [summed(one, True) for one in own]
    assert " ".join(digest(one.weights, "<i4") for one in own) == (
        "EA75CA60 9E6953B6 CF375901 9FEE6068 99A2171D 93210F43 70745EA7"
    )
    assert " ".join(digest(weights, "<f4") for weights, _ in sums) == (
        "40095751 6533D03A 25133718 70CA6895 E72C7FA1 11925679 AB4B2C5C"
    )
    assert " ".join(digest(bias, "<f4") for _, bias in sums) == (
        "F99E4FA5 04D40123 08C55449 144F4819 C523404D 3ECD50B1 9DEA7722"
    )


def test_network_b_in_float32() -> None:
    network = in_float32(network_b())
    values, loss, _, found = passed(network)
    assert value_digests(network, values) == (
        "2F9D2308 94C723A9 1BE77367 A4A64E1A 03734C5B E475A210 8EB09B08 AA40D693 A1F6A97B 71F72D40 7170D22D "
        "F7B95FEE 092F2F87"
    )
    assert hexed([loss]) == "3FA4542C"
    assert " ".join(errors(found)) == (
        "0205819F F1F36B27 3CE3A334 8D797ABF 8D797ABF 8614D942 32E36AE7 AD54AE4F 5E992850 05CFC71F 298B4B98 E351B51B"
    )
    sums = [summed(found.own[index], False)[0] for index in (0, 2, 4, 5, 7, 9, 11)]
    assert " ".join(digest(weights, "<f4") for weights in sums) == (
        "0DE9EBE9 E33A10A6 DC5ADCF4 554B9ADE 5E22512D 59CD98CE BFA2F21A"
    )
