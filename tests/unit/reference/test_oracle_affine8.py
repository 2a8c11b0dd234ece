"""The oracle of affine8 against the test vectors of docs/arithmetic-affine8.md, section 11, but its networks."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import affine8, affine8_backward
from tests.oracle.affine8_network import Layer, Network
from tests.oracle.affine8_network import digest as digest_of_bytes
from tests.oracle.affine8_numbers import (
    Range,
    Tensor,
    factor,
    float_of,
    float_tensor,
    integer_tensor,
    params,
    quantize,
    rescale,
    running_tensor,
)
from tests.oracle.numbers import F32

from .oracle_affine8_networks import NONE, RELU, digest, floats, hexed

BOTH = ("nearest", "floor")


def numbers(text: str) -> list[int]:
    """Return the integers of a line."""
    return [int(word) for word in text.replace("/", " ").replace(",", " ").split()]


def test_float_of_an_integer() -> None:
    assert hexed([float_of(2**60 + 2**36 + 1)]) == "5D800001"
    assert hexed([float_of(-(2**60) - 2**36 - 1)]) == "DD800001"


@pytest.mark.parametrize(
    ("f", "m", "n"),
    [
        (F32(0.01), 41943, 22),
        (F32(0.25), 32768, 17),
        (F32(1) / F32(3), 43690, 17),
        (F32(255) / F32(256), 65280, 16),
        (F32(1), 65535, 16),
        (F32(3), 65535, 16),
        (F32(2.0**-31), 32768, 46),
        (floats("2FFFF972")[0], 0, 46),
        (F32(0), 0, 46),
    ],
)
def test_factor(f: np.float32, m: int, n: int) -> None:
    assert factor(f) == (m, n)


@pytest.mark.parametrize(
    ("by", "line"),
    [
        ((65535, 16), "4 3 -4 -4 5 4 -5 -5 99998 99998 -99998 -99999 1602216064 1602216063 -1602216064 -1602216064"),
        ((41943, 22), "0 0 0 -1 0 0 0 -1 1000 999 -1000 -1000 16022390 16022389 -16022390 -16022390"),
        ((32768, 18), "1 0 0 -1 1 0 -1 -1 12500 12500 -12500 -12500 200280064 200280064 -200280064 -200280064"),
        ((50000, 40), "0 0 0 -1 0 0 0 -1 0 0 0 -1 73 72 -73 -73"),
    ],
)
def test_rescale(by: tuple[int, int], line: str) -> None:
    sums = (4, -4, 5, -5, 100000, -100000, 1602240512, -1602240512)
    assert [rescale(a, by, rounding) for a in sums for rounding in BOTH] == numbers(line)


@pytest.mark.parametrize(
    ("low", "high", "bits", "z"),
    [
        (0, 1, "3B808081 437EFFFF", [-128, -128]),
        (-0.5, 0.25, "3B40C0C1 43AA0000", [42, 42]),
        (-1, 0, "3B808081 437EFFFF", [127, 126]),
        (-0.1, 1.7, "3BE74DB5 430DAAAA", [-114, -114]),
        (0, 6, "3CC0C0C1 422A0000", [-128, -128]),
    ],
)
def test_params(low: float, high: float, bits: str, z: list[int]) -> None:
    found = [params(F32(low), F32(high), rounding) for rounding in BOTH]
    assert [hexed(one[:2]) for one in found] == [bits, bits]
    assert [one[2] for one in found] == z


@pytest.mark.parametrize(
    ("rounding", "q"),
    [("nearest", "-114 28 -128 -114 -114 127 127"), ("floor", "-114 27 -128 -114 -115 126 127")],
)
def test_quantize(rounding: str, q: str) -> None:
    _, j, z = params(F32(-0.1), F32(1.7), rounding)
    real = (0, 1, -1, 0.003, -0.003, 1.7, 3)
    assert [quantize(F32(x), j, z, rounding) for x in real] == numbers(q)


@pytest.mark.parametrize(("rounding", "q", "z"), [("nearest", "67 -128 127", 22), ("floor", "65 -128 125", 21)])
def test_a_float_tensor(rounding: str, q: str, z: int) -> None:
    found = float_tensor(floats("3E400000 BF200000 3EE00000"), rounding)
    assert (found.q, hexed([found.s]), found.z) == (numbers(q), "3B888889", z)


INTEGER_TENSORS = """\
0 0 | 00000000 | 0: 0 0 | 0: 0 0
3 -5 0 | 39000000 | -123: -120 -128 -123 | -123: -120 -128 -123
10 200 | 39000000 | -128: -118 72 | -128: -118 72
-100 155 0 | 39000000 | -28: -128 127 -28 | -28: -128 127 -28
-100 156 0 | 39008081 | -28: -128 127 -28 | -29: -128 126 -29
-1000 24 1 -1 | 3A008081 | 121: -128 127 121 121 | 121: -128 126 121 120
70000 -30000 137 -137 | 3D441523 | -52: 126 -128 -52 -52 | -52: 126 -128 -52 -53
2130739200 -2130739200 8388608 | 44FF00FF | -1: 126 -128 0 | -1: 126 -128 -1""".splitlines()


@pytest.mark.parametrize("line", INTEGER_TENSORS)
def test_integer_tensors(line: str) -> None:
    acc, s, *expected = (part.strip() for part in line.split("|"))
    for rounding, one in zip(BOTH, expected, strict=True):
        found = integer_tensor(numbers(acc), F32(2.0**-13), rounding)
        z, q = one.split(":")
        assert (hexed([found.s]), found.z, found.q) == (s, int(z), numbers(q))


def test_the_factors_of_integer_tensors() -> None:
    factors = [factor(F32(255) / float_of(wide)) for wide in (256, 1024, 100000, 4261478400)]
    assert factors == [(65280, 16), (65280, 18), (42781, 24), (32896, 39)]


def test_a_running_range() -> None:
    kept, momentum, c = Range(), F32(0.0625), F32(2.0**-13)
    for line in """\
0 0 | 00000000 | 0: 0 0 | 00000000 00000000
70000 -30000 137 | 3D441414 | -52: 126 -128 -52 | C06A6000 4108B800
9000 -90000 137 | 3D441414 | -52: -29 -128 -52 | C083D600 410145C0
0 0 | 00000000 | 0: 0 0 | C083D600 410145C0
50000 -20000 400 | 3D43F4B5 | -42: 86 -93 -41 | C0807AA0 40FE97C8""".splitlines():
        acc, s, expected, ends = (part.strip() for part in line.split("|"))
        found = running_tensor(numbers(acc), c, "nearest", kept, momentum)
        z, q = expected.split(":")
        assert (hexed([found.s]), found.z, found.q) == (s, int(z), numbers(q))
        assert hexed([kept.low, kept.high]) == ends


def convolution(rounding: str) -> Network:
    """Return the convolution of the text."""
    weights, bias = numbers("100 -128 37 / -5 127 60 / 90 -100 -41"), [F32(-0.1)]
    layer = Layer("conv2d", (0,), (2, 2, 1), (2, 2, 1), (3, 3), (1, 1), (1, 1), "affine8", *RELU, F32(0), F32(1.5))
    layer.weights, layer.s_w, layer.z_w, layer.bias = weights, F32(2.0**-8), -20, bias
    return Network([layer], (2, 2, 1), F32(1 / 255), -120, rounding)


@pytest.mark.parametrize(("rounding", "out"), [("nearest", "-128 -97 / -63 -47"), ("floor", "-128 -98 / -64 -47")])
def test_a_convolution(rounding: str, out: str) -> None:
    network, x = convolution(rounding), numbers("10 -128 / 127 0")
    layer = network.layers[0]
    s_y, z_y = network.scale(1)
    assert (hexed([s_y]), z_y) == ("3BC0C0C1", -128)
    assert affine8.bias_steps(layer, network.s) == [-6528]
    assert affine8.folded(network, layer) == [31872]
    acc, unit = affine8.accumulated(network, layer, [x])
    assert (acc, factor(unit / s_y)) == (numbers("-10338 11816 / 24885 31281"), (43690, 24))
    assert [affine8.limit(layer, one, rounding) for one in RELU] == [-128, 384]
    assert affine8.run_affine8(network, layer, [x]) == numbers(out)


def test_the_gradients_of_a_convolution() -> None:
    network, x = convolution("nearest"), numbers("10 -128 / 127 0")
    layer, e = network.layers[0], Tensor(numbers("40 -128 / 127 3"), F32(2.0**-10), 5)
    acc, c = affine8_backward.input_sums(network, layer, e, [x], 0)
    assert acc == numbers("-10266 -9581 / 474 19371")
    given = integer_tensor(acc, c, "nearest")
    assert (hexed([given.s]), given.z, given.q) == ("39E872DD", -40, numbers("-128 -122 / -36 127"))
    g = affine8_backward.own_gradient(network, layer, e, x, [0])
    assert g.weights == numbers("-260 15876 -976 / -17784 35508 14360 / -32851 -7315 4200")
    assert g.bias == [22]
    assert hexed([g.c * float_of(one) for one in g.weights[:3]]) == "BA828283 3D79090A BB74F4F6"


def pair(op: str, ends: tuple[float, float], scales: tuple[tuple[float, int], tuple[float, int]]) -> Network:
    """Return a layer of one element that reads two values, whose ranges have the given scales and zero points."""
    low, high = F32(ends[0]), F32(ends[1])
    network = _Scaled([Layer(op, (1, 2), (1, 1, 1), (1, 1, 1), low=low, high=high)], (1, 1, 1), F32(1), 0)
    network.given = {1 + i: (F32(s), z) for i, (s, z) in enumerate(scales)}
    return network


class _Scaled(Network):
    """A network whose values have scales that no range gives."""

    given: dict[int, tuple[np.float32, int]]

    def scale(self, value: int) -> tuple[np.float32, int]:
        return self.given[value]


def test_add() -> None:
    network = pair("add", (-8, 8), ((0.05, -5), (0.03, 3)))
    layer = network.layers[0]
    assert affine8.add_factors(F32(0.05), F32(0.03))[1:] == (16384, 9830)
    for a, b, sum_, out in ((100, -77, 933920, 44), (127, 127, 3381608, 127), (-128, -128, -3302962, -128)):
        acc, unit = affine8.accumulated(network, layer, [[a], [b]])
        assert acc == [sum_] and affine8.run_affine8(network, layer, [[a], [b]]) == [out]
    assert factor(unit / params(layer.low, layer.high, "nearest")[0]) == (52223, 30)


def test_multiply() -> None:
    network = pair("multiply", (-3, 6), ((0.05, -5), (1 / 255, -128)))
    layer = network.layers[0]
    for a, b, out in ((100, -77, -13), (127, 127, 127), (-128, 0, -128)):
        _, unit = affine8.accumulated(network, layer, [[a], [b]])
        assert affine8.run_affine8(network, layer, [[a], [b]]) == [out]
    s_y, _, z_y = params(layer.low, layer.high, "nearest")
    assert (factor(unit / s_y), z_y) == ((46603, 23), -43)


def test_hard_swish() -> None:
    every = list(range(-128, 128))
    first = Layer("add", (0, 0), (1, 1, 256), (1, 1, 256), low=F32(-4), high=F32(5))
    layer = Layer("hard_swish", (1,), (1, 1, 256), (1, 1, 256), low=F32(-0.375), high=F32(5))
    network = Network([first, layer], (1, 1, 256), F32(1), 0)
    scales = [network.scale(value) for value in (1, 2)]
    assert [(hexed([s]), z) for s, z in scales] == [("3D109091", -15), ("3CACACAD", -110)]
    out = affine8.run_affine8(network, layer, [every])
    e = Tensor([1] * 256, F32(1), 0)
    d, c = affine8_backward.input_sums(network, layer, e, [every], 0)
    assert (digest(out, "<i1"), digest(d, "<i2"), c) == ("A13F75FC", "DB3D8066", 2.0**-7)
    some = [q + 128 for q in (-128, -60, -40, -15, 0, 40, 100, 127)]
    assert [out[i] for i in some] == [-110, -128, -125, -110, -95, -34, 83, 127]
    assert [d[i] for i in some] == [0, -4, 26, 64, 87, 147, 128, 128]


def test_two_readers() -> None:
    first = Tensor([127, -128, 10, 20], F32(2.0**-9), 20)
    second = Tensor([-128, 60, 127, -50], F32(0.003), -50)
    assert affine8.add_factors(first.s, second.s)[1:] == (10667, 16384)
    found = affine8_backward.together(first, second, "nearest")
    assert isinstance(found, Tensor)
    assert (found.q, hexed([found.s]), found.z) == ([-128, -97, 127, -116], "3B09E092", -116)


def test_hard_swish_in_float32() -> None:
    x = floats("C0400000 C0200000 BF400000 3E99999A 4039999A 40400000 40800000")
    layer = Layer("hard_swish", (0,), (1, 1, 7), (1, 1, 7), format="float32")
    network = Network([layer], (1, 1, 7), F32(1), 0)
    y = affine8.run_float32(network, layer, [x])
    assert hexed(y) == "00000000 BE555556 BE900000 3E28F5C3 403681B6 40400000 40800000"
    e = affine8_backward.float_error(layer, [F32(1.5)] * 7, [x], 0)
    assert hexed(e) == "00000000 BF000000 3EC00000 3F666667 400CCCCD 3FC00000 3FC00000"


def test_the_digest_of_weights() -> None:
    layer = Layer("fully_connected", (0,), (1, 1, 5), (1, 1, 1), (0, 0), 0, 0, "affine8", *NONE, F32(-0.5), F32(1.5))
    layer.weights, layer.s_w, layer.z_w, layer.bias = [1, -2, 127, -128, 30], F32(2.0**-8), -20, [F32(0)]
    (data,) = layer.tensors(False)
    assert len(data) == 24 and f"{digest_of_bytes(data):08X}" == "F062A593"


def test_the_converter_of_weights() -> None:
    real = [F32(one) for one in (0.3, -0.1, 0.02, 0.25, -0.37)]
    s, j, z = params(min(real), max(real), "nearest")
    assert (hexed([s]), z) == ("3B2C3150", 13)
    assert [quantize(one, j, z, "nearest") for one in real] == [127, -25, 21, 108, -128]
