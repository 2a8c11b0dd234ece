"""Ranges of values that W or a limit decides, in C and in NumPy: docs/arithmetic-fqt.md, section 7, in fractions."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from engine.fqt_pair import H, Pair, Small
from engine.plain_affine8 import near
from engine.plain_network import PlainNetwork, exact, moved_range
from hil.training.graph.file import decode, encode
from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.methods.fqt_settings import FqtSettings
from hil.training.methods.fqt_tensors import with_arrays

U = 2.0**-8  # s_x * s_w of the first layer of these graphs: W is 255 * U
W = 255 * U
ROWS = [[100, -128, 37], [-5, 127, 60]]


def first_near_w(times: float) -> Graph:
    """Return a layer whose range is so many times W; what it learns may make s_w larger, and W with it."""
    net = Small(3, 1.0, 0).weighted(ROWS, (-W / 4, (times - 0.25) * W), s_w=U)
    return net.weighted([[60, -60], [-40, 90]], (-30.0, 30.0), s_w=2.0**-4).graph()


def limited(most: float, least: float, ends: tuple[float, float], rounding: str = "nearest") -> Graph:
    """Return a layer with limits that are less than W apart."""
    net = Small(3, 1.0, -128).weighted(ROWS, ends, (least, most), s_w=U)
    return net.weighted([[60, -60], [-40, 90]], (-30.0, 30.0), s_w=2.0**-4).graph(rounding)


def wide_inputs(op: Op, ends: tuple[float, float]) -> Graph:
    """Return a graph in which an operation without weights reads two values of wide ranges, which are almost 0."""
    net = Small(3, 2.0**-6, 0).weighted(ROWS, (-64.0, 64.0), s_w=2.0**-12)
    net.weighted([[60, -60], [-40, 90]], (-3.0, 60.0), s_w=2.0**-12)
    reads = (2,) if op is Op.HARD_SWISH else (2, 1)
    return net.plain(op, reads, ends).weighted([[60, -60], [-40, 90]], (-4000.0, 4000.0), s_w=2.0**-4).graph()


def multiplied(least: float) -> Graph:
    """Return a graph whose multiply has a range of about `least` times its W."""
    unit = (128 / 255) * (63 / 255)
    return wide_inputs(Op.MULTIPLY, (0.0, 255 * unit * least))


ZEROED = {"range_momentum": 1.0, "range_growth": 0.0}
FIXED, MOVED = {"range_momentum": 0.0, "range_growth": 0.0}, {"range_momentum": 1.0, "range_growth": 0.5}
FAST, SLOW = {"eta": 0.5, "standardise": "off"}, {"eta": 2.0**-40, "standardise": "off"}
CASES: dict[str, tuple[Callable[[], Graph], dict[str, object], set[int]]] = {
    "a fixed range that W outgrows": (lambda: first_near_w(1.0), FIXED | FAST, {0}),
    "a fixed range that W does not reach": (lambda: first_near_w(1.5), FIXED | SLOW, set()),
    "W above a limit, fixed": (lambda: limited(W / 2, 0.0, (0.0, W)), FIXED | SLOW, {0}),
    "W above a limit, moving": (lambda: limited(W / 2, 0.0, (0.0, W)), MOVED | SLOW, {0}),
    "W above a limit, floor": (lambda: limited(W / 4, -W / 8, (-W / 8, W), "floor"), MOVED | SLOW, {0}),
    "limits on both sides": (lambda: limited(W / 4, -W / 4, (-W / 4, 3 * W / 4)), MOVED | SLOW, {0}),
    "a limit of 0 above": (lambda: limited(0.0, -W / 4, (-W / 4, W)), MOVED | SLOW, {0}),
    "no range below 0": (lambda: limited(H, 0.0, (0.0, W)), MOVED | SLOW, set()),
    "add that is almost 0": (lambda: wide_inputs(Op.ADD, (-(2.0**-18), 2.0**-18)), ZEROED | SLOW, {2}),
    "add of 0 only": (lambda: wide_inputs(Op.ADD, (-1000.0, 1000.0)), ZEROED | SLOW, {2}),
    "hard_swish of 0 only": (lambda: wide_inputs(Op.HARD_SWISH, (-1000.0, 1000.0)), ZEROED | SLOW, {2}),
    "multiply of 0 only": (lambda: multiplied(8.0), ZEROED | SLOW, {0, 1, 2}),
    "multiply at W, fixed": (lambda: multiplied(1.0), FIXED | SLOW, {2}),
}  # fmt: skip
IMAGES = np.array([[250, 3, 140], [129, 128, 126], [0, 255, 77]], np.uint8).reshape(3, 1, 1, 3)
LABELS = [0, 1, 1]


def check_step(pair: Pair, plain: PlainNetwork, chosen: FqtSettings) -> set[int]:
    """Train a step; hold each range against the text; return the layers whose range W decided."""
    count = len(plain.layers)
    seen = [plain.values(image.reshape(-1).tolist()) for image in IMAGES]
    old = [(layer.low, layer.high, *plain.scale(index + 1)[::2]) for index, layer in enumerate(plain.layers)]
    pair.put(IMAGES, LABELS)
    for slot, values in enumerate(seen):
        outputs = pair.trace(slot)[:count]
        assert [list(np.frombuffer(out[:-2], np.int8)) for out in outputs] == values[1:]
    pair.step()
    plain.take(pair.tensors())
    found = [(layer.low, layer.high) for layer in plain.layers]
    decided = set()
    for index, layer in enumerate(plain.layers):
        ends = min(127, *(min(v[index + 1]) for v in seen)), max(-128, *(max(v[index + 1]) for v in seen))
        expected = moved_range(plain, index, old[index], ends, exact(chosen.range_momentum), exact(chosen.range_growth))
        assert found[index] == expected, (index, [float(end) for end in (*found[index], *expected)])
        least = plain.smallest_width(index)
        assert near(layer.high - layer.low) >= least * (1 - Fraction(2) ** -22)
        if layer.high == near(layer.low + least):
            decided.add(index)
    return decided


@pytest.mark.parametrize("name", CASES)
def test_a_smallest_width_that_decides(library: ctypes.CDLL, name: str) -> None:
    """W holds whatever moves ranges; a range above its limit is read by files, and by passes, of both."""
    make, moves, expected = CASES[name]
    graph, chosen = make(), FqtSettings(batch=3, **moves)  # type: ignore[arg-type]
    pair, plain = Pair(library, graph, chosen), PlainNetwork(graph)
    try:
        decided = set()
        for _ in range(3):
            decided |= check_step(pair, plain, chosen)
        assert decided >= expected and (expected or not decided), decided
        reference = pair.reference
        again = with_arrays(graph, reference._tensors, reference.weights)
        blob = encode(again)
        assert encode(decode(blob)) == blob
        other = Pair(library, again, chosen)  # the C reader takes the file, too
        other.put(IMAGES, LABELS)
        assert other.trace(0)[: len(plain.layers)] == pair.trace(0)[: len(plain.layers)]
        other.close()
    finally:
        pair.close()


def test_some_ranges_end_above_their_limit() -> None:
    """The cases are what they are called: W of a limited layer is more than its limit."""
    for name in ("W above a limit, fixed", "W above a limit, moving", "W above a limit, floor", "limits on both sides"):
        plain = PlainNetwork(CASES[name][0]())
        first = plain.layers[0]
        assert first.low + plain.smallest_width(0) > first.act_max, name
