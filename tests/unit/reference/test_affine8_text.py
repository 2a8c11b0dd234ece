"""The numbers of docs/arithmetic-affine8.md, section 11: rules of tensors, and layers one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import xxhash
from network.in_format import in_format
from numpy.testing import assert_array_equal

from hil.training.graph.affine8 import folded_biases, params, quantized_biases, with_scales
from hil.training.graph.affine8_parameters import Head
from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Affine8Node, Affine8Parameters, Float32Node, Node, Tflite8Node
from hil.training.graph.part import padded
from hil.training.reference.formats.affine8 import backward
from hil.training.reference.formats.affine8.errors import Affine8Errors, RunningRange, joined, of_floats, of_sums
from hil.training.reference.formats.affine8.layer import RunnableLayer
from hil.training.reference.formats.affine8.rescale import factor, quantized, rescaled
from hil.training.reference.formats.float32.backward import input_errors
from hil.training.reference.formats.float32.forward import run

from .affine8_networks import H

F = np.float32


def bits(numbers: object) -> list[str]:
    """Return binary32 numbers as they are in the text."""
    return [f"{each:08X}" for each in np.atleast_1d(np.asarray(numbers, F)).reshape(-1).view(np.uint32)]


def floats(text: str) -> np.ndarray:
    return np.array([int(word, 16) for word in text.split()], np.uint32).view(F)


def digest(array: np.ndarray) -> str:
    return f"{xxhash.xxh32_intdigest(np.ascontiguousarray(array).tobytes()):08X}"


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_integers_are_rounded_once(kind: type[np.int64]) -> None:
    for count in (1, 3, 64, 1001):
        assert bits(np.full(count, 2**60 + 2**36 + 1, kind).astype(F)) == ["5D800001"] * count


def test_factors() -> None:
    numbers = [0.01, 0.25, F(1) / F(3), F(255) / F(256), 1, 3, 2.0**-31, floats("2FFFF972")[0], 0, np.inf, np.nan, -1.0]
    m, n = factor(numbers)
    expected = [(41943, 22), (32768, 17), (43690, 17), (65280, 16), (65535, 16), (65535, 16), (32768, 46)]
    assert list(zip(m, n, strict=True)) == expected + [(0, 46)] * 5


SUMS = (4, -4, 5, -5, 100000, -100000, 1602240512, -1602240512)
RESCALED = {
    (65535, 16): ((4, -4, 5, -5, 99998, -99998, 1602216064, -1602216064), (3, -4, 4, -5, 99998, -99999, 1602216063, -1602216064)),
    (41943, 22): ((0, 0, 0, 0, 1000, -1000, 16022390, -16022390), (0, -1, 0, -1, 999, -1000, 16022389, -16022390)),
    (32768, 18): ((1, 0, 1, -1, 12500, -12500, 200280064, -200280064), (0, -1, 0, -1, 12500, -12500, 200280064, -200280064)),
    (50000, 40): ((0, 0, 0, 0, 0, 0, 73, -73), (0, -1, 0, -1, 0, -1, 72, -73)),
}  # fmt: skip


@pytest.mark.parametrize("of", RESCALED)
@pytest.mark.parametrize(("place", "rounding"), [(0, "nearest"), (1, "floor")])
def test_rescaling(of: tuple[int, int], place: int, rounding: str) -> None:
    assert_array_equal(rescaled(np.array(SUMS, float), *of, rounding), RESCALED[of][place])


@pytest.mark.parametrize(
    ("low", "high", "s", "j", "nearest", "floor"),
    [
        (0, 1, "3B808081", "437EFFFF", -128, -128),
        (-0.5, 0.25, "3B40C0C1", "43AA0000", 42, 42),
        (-1, 0, "3B808081", "437EFFFF", 127, 126),
        (-0.1, 1.7, "3BE74DB5", "430DAAAA", -114, -114),
        (0, 6, "3CC0C0C1", "422A0000", -128, -128),
    ],
)
def test_params(low: float, high: float, s: str, j: str, nearest: int, floor: int) -> None:
    for rounding, z in (("nearest", nearest), ("floor", floor)):
        found = params(low, high, rounding)
        assert (bits(found[0]), bits(found[1]), found[2]) == ([s], [j], z)


@pytest.mark.parametrize(
    ("rounding", "q"),
    [("nearest", [-114, 28, -128, -114, -114, 127, 127]), ("floor", [-114, 27, -128, -114, -115, 126, 127])],
)
def test_quantize(rounding: str, q: list[int]) -> None:
    _, j, z = params(-0.1, 1.7, rounding)
    assert quantized(np.array([0, 1, -1, 0.003, -0.003, 1.7, 3], F), j, z, rounding).tolist() == q


def shown(error: Affine8Errors) -> tuple[list[int], str, int]:
    return error.stored.reshape(-1).tolist(), bits(error.s)[0], int(error.z[0])


@pytest.mark.parametrize(("rounding", "q", "z"), [("nearest", [67, -128, 127], 22), ("floor", [65, -128, 125], 21)])
def test_a_float_tensor(rounding: str, q: list[int], z: int) -> None:
    x = floats("3E400000 BF200000 3EE00000").reshape(1, 1, 1, 3)
    assert shown(of_floats(x, rounding)) == (q, "3B888889", z)
    assert shown(of_floats(np.full_like(x, F(2.0**-101)), rounding)) == ([0, 0, 0], "00000000", 0)


INTEGERS = [
    ([0, 0], "00000000", 0, [0, 0], 0, [0, 0]),
    ([3, -5, 0], "39000000", -123, [-120, -128, -123], -123, [-120, -128, -123]),
    ([10, 200], "39000000", -128, [-118, 72], -128, [-118, 72]),
    ([-100, 155, 0], "39000000", -28, [-128, 127, -28], -28, [-128, 127, -28]),
    ([-100, 156, 0], "39008081", -28, [-128, 127, -28], -29, [-128, 126, -29]),
    ([-1000, 24, 1, -1], "3A008081", 121, [-128, 127, 121, 121], 121, [-128, 126, 121, 120]),
    ([70000, -30000, 137, -137], "3D441523", -52, [126, -128, -52, -52], -52, [126, -128, -52, -53]),
    ([2130739200, -2130739200, 8388608], "44FF00FF", -1, [126, -128, 0], -1, [126, -128, -1]),
]  # fmt: skip


def sums(acc: list[int]) -> np.ndarray:
    return np.array(acc, np.float64).reshape(1, 1, 1, -1)


@pytest.mark.parametrize(("acc", "s", "z", "q", "z_floor", "q_floor"), INTEGERS)
def test_integer_tensors(acc: list[int], s: str, z: int, q: list[int], z_floor: int, q_floor: list[int]) -> None:
    c = np.array([2.0**-13], F)
    assert shown(of_sums(sums(acc), c, "nearest")) == (q, s, z)
    assert shown(of_sums(sums(acc), c, "floor")) == (q_floor, s, z_floor)
    assert shown(of_sums(sums(acc), np.zeros(1, F), "nearest")) == ([0] * len(acc), "00000000", 0)


def test_many_samples_at_once_are_as_one_by_one() -> None:
    rows = [[*acc, 0, 0, 0, 0][:4] for acc, *_ in INTEGERS]
    c = (2.0 ** np.arange(-13.0, -13 + len(rows))).astype(F)
    whole = of_sums(np.array(rows, np.float64).reshape(-1, 1, 1, 4), c, "nearest")
    for index, row in enumerate(rows):
        one = of_sums(sums(row), c[index : index + 1], "nearest")
        assert (whole.stored[index].reshape(-1).tolist(), bits(whole.s[index])[0], whole.z[index]) == shown(one)


def test_a_running_range() -> None:
    running, c = RunningRange(1 / 16), np.array([2.0**-13], F)
    rows = [
        ([0, 0, 0], "00000000", 0, [0, 0, 0], "00000000 00000000"),
        ([70000, -30000, 137], "3D441414", -52, [126, -128, -52], "C06A6000 4108B800"),
        ([9000, -90000, 137], "3D441414", -52, [-29, -128, -52], "C083D600 410145C0"),
        ([0, 0, 0], "00000000", 0, [0, 0, 0], "C083D600 410145C0"),
        ([50000, -20000, 400], "3D43F4B5", -42, [86, -93, -41], "C0807AA0 40FE97C8"),
    ]
    for acc, s, z, q, after in rows:
        assert shown(running.of_sums(sums(acc), c, "nearest")) == (q, s, z)
        assert bits([running.low, running.high]) == after.split()
    together = RunningRange(1 / 16).of_sums(
        np.array([row[0] for row in rows], float).reshape(5, 1, 1, 3), np.repeat(c, 5), "nearest"
    )
    assert together.stored.reshape(5, 3).tolist() == [row[3] for row in rows]


def layer_of(node: Node, in_scales: list[tuple[float, int]], rounding: str = "nearest") -> RunnableLayer:
    """Return a layer whose values have these scales and zero points."""
    readers = [in_format(Tflite8Node, node, op=Op.HARD_SWISH, scale=scale, zero=zero) for scale, zero in in_scales]
    node = replace(node, rounding=rounding)
    graph = Graph("one", (*readers, node), node.in_shape, 2)
    return RunnableLayer(graph, with_scales(graph).layers[-1])


def node(op: Op, low: float, high: float, shape: tuple[int, int, int], **others: object) -> Node:
    limits = {"act_min": -H, "act_max": H} | others
    reads = (1, 2) if op in (Op.ADD, Op.MULTIPLY) else (1,)
    return Affine8Node("x1", op, reads, shape, shape, low=low, high=high, **limits)


IMAGE_SCALE = float(F(1 / 255))


@pytest.mark.parametrize(("rounding", "out"), [("nearest", [-128, -97, -63, -47]), ("floor", [-128, -98, -64, -47])])
def test_conv2d(rounding: str, out: list[int]) -> None:
    weights = np.array([100, -128, 37, -5, 127, 60, 90, -100, -41], np.int8).reshape(1, 3, 3, 1)
    own = Affine8Parameters(weights, np.array([-0.1], F), scale=2.0**-8, zero=-20)
    its = node(Op.CONV2D, 0.0, 1.5, (2, 2, 1), kernel=(3, 3), stride=(1, 1), pad=(1, 1), own=own, act_min=0.0)
    layer = layer_of(its, [(IMAGE_SCALE, -120)], rounding)
    b_q = quantized_biases(own.bias, IMAGE_SCALE, 2.0**-8)
    assert b_q.tolist() == [-6528]
    assert folded_biases(Op.CONV2D, weights, -20, b_q, -120).tolist() == [31872]
    assert tuple(map(int, layer._factor)) == (43690, 24) and layer._limits == (-128, 384)
    x = np.array([10, -128, 127, 0], float).reshape(1, 2, 2, 1) + 120
    assert (layer._sums(x) + layer._bias).reshape(-1).tolist() == [-10338, 11816, 24885, 31281]
    assert (layer.run([x]) - 128).reshape(-1).tolist() == out
    if rounding == "floor":
        return
    e = np.array([40, -128, 127, 3], float).reshape(1, 2, 2, 1) - 5
    error = Affine8Errors.of(e, np.array([2.0**-10], F), np.array([5]))
    (given,) = backward.given(layer, error, [x], [True])
    assert given.acc.reshape(-1).tolist() == [-10266, -9581, 474, 19371]
    assert shown(of_sums(given.acc, given.c, rounding)) == ([-128, -122, -36, 127], "39E872DD", -40)
    gradients = backward.Gradients.of(layer, error, x)
    (g,) = gradients.weights()
    assert g.reshape(-1).tolist() == [-260, 15876, -976, -17784, 35508, 14360, -32851, -7315, 4200]
    assert gradients.bias.tolist() == [[22]]
    assert bits(gradients.c[0] * g)[:3] == ["BA828283", "3D79090A", "BB74F4F6"]
    s1, s2 = gradients.sums_and_squares()
    assert (s1, s2) == (g.astype(int).sum(), (g.astype(int) ** 2).sum())


def test_squares_that_no_float_holds() -> None:
    """S2 of gradients near 2^31 is exact."""
    whole = np.array([2130739200, -2130739199, 3], float).reshape(1, 1, 3)
    assert int(backward._squares(whole)[0, 0]) == sum(int(g) ** 2 for g in whole.reshape(-1))


PAIR = np.array([[100, -77], [127, 127], [-128, -128]], float)


def test_add() -> None:
    layer = layer_of(node(Op.ADD, -8.0, 8.0, (1, 3, 1)), [(float(F(0.05)), -5), (float(F(0.03)), 3)])
    assert layer._shares == [16384, 9830] and tuple(map(int, layer._factor)) == (52223, 30)
    a, b = ((PAIR[:, place] - zero).reshape(1, 1, 3, 1) for place, zero in enumerate((-5, 3)))
    assert (a * 16384 + b * 9830).reshape(-1).tolist() == [933920, 3381608, -3302962]
    assert (layer.run([a, b]) + layer._z_y).reshape(-1).tolist() == [44, 127, -128]


def test_multiply() -> None:
    layer = layer_of(node(Op.MULTIPLY, -3.0, 6.0, (1, 1, 3)), [(float(F(0.05)), -5), (IMAGE_SCALE, -128)])
    assert tuple(map(int, layer._factor)) == (46603, 23) and layer._z_y == -43
    a = np.array([100.0, 127, -128]).reshape(1, 1, 1, 3) + 5
    b = np.array([-77.0, 127, 0]).reshape(1, 1, 1, 3) + 128
    assert (layer.run([a, b]) - 43).reshape(-1).tolist() == [-13, 127, -128]


def test_hard_swish() -> None:
    layer = layer_of(node(Op.HARD_SWISH, -0.375, 5.0, (1, 1, 256)), [(float(floats("3D109091")[0]), -15)])
    q = np.arange(-128.0, 128)
    out = (layer.run([(q + 15).reshape(1, 1, 1, 256)]) - 110).reshape(-1).astype(np.int8)
    assert digest(out) == "A13F75FC" and digest(layer.slopes.astype(np.int16)) == "DB3D8066"
    places = np.array([-128, -60, -40, -15, 0, 40, 100, 127]) + 128
    assert out[places].tolist() == [-110, -128, -125, -110, -95, -34, 83, 127]
    assert layer.slopes[places].tolist() == [0, -4, 26, 64, 87, 147, 128, 128]


def test_hard_swish_where_its_bends_are_values() -> None:
    layer = layer_of(node(Op.HARD_SWISH, -0.375, 5.0, (1, 1, 256)), [(2.0**-4, 0)])
    places = np.array([-49, -48, -47, 47, 48, 49]) + 128
    assert layer.slopes[places].tolist() == [0, 0, -61, 189, 128, 128]


def errors(q: list[int], s: float, z: int) -> Affine8Errors:
    return Affine8Errors.of(np.array(q, float).reshape(1, 1, 1, -1) - z, np.array([s], F), np.array([z]))


def test_two_readers() -> None:
    first, second = errors([127, -128, 10, 20], 2.0**-9, 20), errors([-128, 60, 127, -50], 0.003, -50)
    assert shown(joined(first, second, "nearest")) == ([-128, -97, 127, -116], "3B09E092", -116)
    nothing = errors([0, 0, 0, 0], 0.0, 0)
    assert shown(joined(first, nothing, "nearest")) == shown(first)
    assert shown(joined(nothing, second, "nearest")) == shown(second)
    assert shown(joined(nothing, nothing, "nearest")) == shown(nothing)


def test_hard_swish_in_float32() -> None:
    x = floats("C0400000 C0200000 BF400000 3E99999A 4039999A 40400000 40800000").reshape(1, 1, 7, 1)
    its = in_format(Float32Node, node(Op.HARD_SWISH, 0.0, 0.0, (1, 1, 7)))
    assert bits(run(its, [x], None)) == [
        "00000000",
        "BE555556",
        "BE900000",
        "3E28F5C3",
        "403681B6",
        "40400000",
        "40800000",
    ]
    (e,) = input_errors(its, np.full_like(x, F(1.5)), [x], None)
    assert bits(e) == ["00000000", "BF000000", "3EC00000", "3F666667", "400CCCCD", "3FC00000", "3FC00000"]


def test_multiply_in_float32() -> None:
    """Sums over positions go on in order, and a -0 becomes +0."""
    its = in_format(Float32Node, node(Op.MULTIPLY, 0.0, 0.0, (3, 1, 1)))
    a, b = np.array([2.0**24, 1, -(2.0**24)], F).reshape(3, 1, 1, 1), np.array([-0.0], F).reshape(1, 1, 1, 1)
    assert bits(run(its, [a, b], None)) == ["00000000"] * 3
    of_a, of_b = input_errors(its, np.ones_like(a), [a, b], None)
    assert bits(of_a) == ["00000000"] * 3 and bits(of_b) == ["00000000"]


def test_digest_of_the_weights() -> None:
    data = padded(np.array([1, -2, 127, -128, 30], np.int8).tobytes()) + Head(2.0**-8, -20, -0.5, 1.5).pack()
    assert (len(data), f"{xxhash.xxh32_intdigest(data):08X}") == (24, "F062A593")


def test_the_text_of_a_converter() -> None:
    w = np.array([0.3, -0.1, 0.02, 0.25, -0.37], F)
    s, j, z = params(w.min(), w.max())
    assert (bits(s), z) == (["3B2C3150"], 13) and quantized(w, j, z).tolist() == [127, -25, 21, 108, -128]


def test_scales_fail_above_the_limit() -> None:
    just, beyond = (
        of_sums(sums([1, -1]), np.array([c], F), "nearest") for c in (2.0**40, np.nextafter(F(2.0**40), F(np.inf)))
    )
    assert (just.wrong.any(), beyond.wrong.all()) == (False, True)
    assert shown(beyond) == ([0, 0], "00000000", 0)
