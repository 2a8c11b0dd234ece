"""Biases up to 2^20 at scales that cannot hold them, in C and in NumPy, against the text in fractions.

docs/arithmetic-affine8.md, section 3 (b_q) and checks 11 and 13; docs/arithmetic-fqt.md, section 8, cause 2.
"""

from __future__ import annotations

import ctypes
import struct

import numpy as np
import pytest

from engine.fqt_pair import H, Pair, Small
from engine.host_engine import EngineRefused
from engine.plain_affine8 import near
from engine.plain_network import PlainNetwork
from hil.training.graph.graph import Graph
from hil.training.methods.fqt_settings import FqtSettings
from hil.training.reference.methods import StepFailed

MOST = 2.0**20
BEYOND = float(np.nextafter(np.float32(MOST), np.float32(np.inf)))
IMAGES = np.array([[250, 3, 140], [129, 128, 126]], np.uint8).reshape(2, 1, 1, 3)
SLOW = FqtSettings(batch=2, eta=2.0**-40, standardise="off")
BAD_TENSOR, STEP_FAILED = 15, 22


def heavy(biases: list[float], s_w: float, scale: float, rounding: str = "nearest") -> Graph:
    """Return a graph whose first layer has these biases, which are more than 2^29 of its s_x * s_w."""
    net = Small(3, scale, 0).weighted([[100, -128, 37], [-5, 127, 60]], (-64.0, 64.0), s_w=s_w, bias=biases)
    return net.weighted([[60, -60], [-40, 90]], (-64.0, 64.0), s_w=2.0**-8, bias=[MOST, -MOST]).graph(rounding)


@pytest.mark.parametrize("rounding", ["nearest", "floor"])
@pytest.mark.parametrize("biases", [[MOST, -MOST], [2.0**-17, -(2.0**-19)], [5.0, -0.25], [2.0**-18 * 1.25, 0.0]])
@pytest.mark.parametrize(("s_w", "scale"), [(2.0**-27, 2.0**-20), (2.0**-10, 2.0**-38), (2.0**-27, 2.0**-40)])
def test_a_bias_beyond_its_scale_is_held(
    library: ctypes.CDLL, biases: list[float], s_w: float, scale: float, rounding: str
) -> None:
    """A file with it is read, passes hold it at 2^29, and steps keep it, though scales shrink below it."""
    graph = heavy(biases, s_w, scale, rounding)
    pair, plain = Pair(library, graph, SLOW), PlainNetwork(graph)
    assert (
        max(abs(near(b * near(1 / near(plain.scale(0)[0] * plain.layers[0].s_w)))) for b in plain.layers[0].bias)
        > 2**29
    )
    pair.put(IMAGES, [0, 1])
    try:
        for _ in range(2):
            for slot, image in enumerate(IMAGES):
                outputs = [list(np.frombuffer(out[:-2], np.int8)) for out in pair.trace(slot)[:2]]
                assert outputs == plain.values(image.reshape(-1).tolist())[1:]
            pair.step()
            plain.take(pair.tensors())
    finally:
        pair.close()


def test_a_bias_stays_at_its_bound_or_fails(library: ctypes.CDLL) -> None:
    """2^20 is a bias still; of two that move, one goes beyond it, and then nothing is changed."""
    graph = Small(3, 1.0, 0).weighted([[60, -60, 1], [-40, 90, 1]], (-64.0, 64.0), bias=[MOST, MOST]).graph()
    pair = Pair(library, graph, SLOW)
    pair.put(IMAGES, [0, 1])
    pair.step()
    assert struct.unpack("<2f", pair.tensors()[1]) == (MOST, MOST)
    pair.close()
    chosen = FqtSettings(batch=2, eta=1.0, standardise="off")
    pair = Pair(library, graph, chosen)
    before = pair.tensors()
    with pytest.raises(StepFailed) as failed:
        pair.reference.step(IMAGES, np.zeros(2, np.uint8))  # the gradient of bias 0 is below 0
    pair.engine.samples(IMAGES, [0, 0])
    with pytest.raises(EngineRefused) as refused:
        pair.engine.step(0, 2)
    assert (failed.value.layer, failed.value.cause) == (0, 2)
    assert (refused.value.code, refused.value.a, refused.value.b) == (STEP_FAILED, 0, 2)
    assert pair.tensors() == before
    pair.close()


def written(pair: Pair, tensor: int, data: bytes) -> bool:
    """Return whether the engine takes the first bytes of a tensor; one that it refuses is as before."""
    before = pair.tensors()[tensor]
    number, offset, length = ctypes.c_uint8(tensor), ctypes.c_uint32(0), ctypes.c_uint32(len(data))
    try:
        pair.engine._call("engine_write_tensor", number, offset, length, data)
    except EngineRefused as refused:
        assert refused.code == BAD_TENSOR and pair.tensors()[tensor] == before
        return False
    assert pair.tensors()[tensor] == data + before[len(data) :]
    return True


def test_what_is_written_through_the_link(library: ctypes.CDLL) -> None:
    """A bias has no bound but 2^20; a range may end above its limit, but not begin below its other one."""
    graph = Small(3, 2.0**-20, 0).weighted([[1, 2, 3], [4, 5, 6]], (-1.0, 1.0), (-1.0, 1.0), s_w=2.0**-28)
    pair = Pair(library, graph.weighted([[1, 2], [3, 4]], (-64.0, 64.0), s_w=2.0**-8).graph(), SLOW)
    try:
        for bias in (MOST, -MOST, 1.0):
            assert written(pair, 1, struct.pack("<2f", 0.0, bias))
        for bias in (BEYOND, -BEYOND, float("nan"), float("inf"), H):
            assert not written(pair, 1, struct.pack("<2f", 0.0, bias))
        weights = bytes([1, 2, 3, 4, 5, 6, 0, 0])
        for low, high, taken in (
            (-1.0, 7.0, True), (-1.0, 2.0**29, True), (0.0, 1.5, True), (-1.0 - 2.0**-23, 1.0, False),
            (-1.0, -0.5, False), (0.0, 2.0**-20, True), (0.0, 2.0**-20 * (1 - 2.0**-24), False),
            (0.0, 2.0**30, True), (-1.0, 2.0**30, True), (0.0, 2.0**10 * BEYOND, False), (-0.0, 1.0, False), (-1.0, float("nan"), False),
        ):  # fmt: skip
            assert written(pair, 0, weights + struct.pack("<fb3x2f", 2.0**-28, 0, low, high)) == taken, (low, high)
    finally:
        pair.close()
