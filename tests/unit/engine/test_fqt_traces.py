"""What a trace of a sparse trial with running ranges shows, in C and in NumPy, against the text in fractions.

docs/arithmetic-affine8.md, section 8: all channels, the ranges of the sample, and nothing moves.
"""

from __future__ import annotations

import ctypes
import struct

import numpy as np
import pytest

from engine.fqt_pair import Pair, Small
from engine.plain_affine8 import Error, number
from engine.plain_network import PlainNetwork
from hil.training.graph.graph import Graph
from hil.training.methods.fqt_settings import FqtSettings
from hil.training.reference.methods import StepFailed

SPARSE = {"lambda_min": 0.0, "lambda_max": 0.0, "sparse_head": 1, "error_range": "running"}
SHARES = {"lambda_min": 0.1, "lambda_max": 1.0, "error_range": "running", "rate": "difference"}
IMAGES = np.array([[250, 3, 140, 90], [129, 128, 126, 70]], np.uint8).reshape(2, 1, 1, 4)
OTHERS = np.array([[0, 255, 0, 255], [255, 0, 255, 0]], np.uint8).reshape(2, 1, 1, 4)


def deep(rounding: str) -> Graph:
    """Return four layers with weights."""
    rng = np.random.default_rng(4)
    net = Small(4, 2.0**-7, 0)
    for inputs, outputs in ((4, 6), (6, 5), (5, 4), (4, 3)):
        rows = rng.integers(-128, 128, (outputs, inputs)).tolist()
        ends = (0.0, 3.0) if outputs > 3 else (-2.0, 3.0)
        limits = (0.0, 2.0**40) if outputs > 3 else (-(2.0**40), 2.0**40)
        net.weighted(rows, ends, limits, 2.0**-7, -9, [0.5] * outputs)
    return net.graph(rounding)


def error_of(stage: bytes) -> Error:
    """Return the error that a stage holds."""
    scale, zero = struct.unpack("<Ih", stage[-6:])
    return Error(np.frombuffer(stage[:-6], np.int8).tolist(), number(scale), zero)


def check_errors(pair: Pair, plain: PlainNetwork) -> int:
    """Hold all errors of both samples against those of whole channels and own ranges; return how many are not 0."""
    count, alive = len(plain.layers), 0
    for slot, image in enumerate(IMAGES):
        stages, values = pair.trace(slot), plain.values(image.reshape(-1).tolist())
        assert len(stages) == 2 * count
        assert [list(np.frombuffer(out[:-2], np.int8)) for out in stages[:count]] == values[1:]
        for index in range(count - 1, 0, -1):
            above, found = (error_of(stages[2 * count - 1 - at]) for at in (index, index - 1))
            assert found.shown == plain.passed_error(index, above, values).shown, (slot, index)
            alive += found.s > 0
    return alive


@pytest.mark.parametrize("rounding", ["nearest", "floor"])
@pytest.mark.parametrize("sparse", [SPARSE, SHARES])
def test_errors_of_a_trace(library: ctypes.CDLL, sparse: dict[str, object], rounding: str) -> None:
    """Before training and after steps that left channels out and moved L and U."""
    chosen = FqtSettings(batch=2, eta=0.02, range_momentum=0.5, **sparse)  # type: ignore[arg-type]
    pair, plain = Pair(library, deep(rounding), chosen), PlainNetwork(deep(rounding))
    try:
        for _ in range(4):
            pair.put(IMAGES, [0, 1])
            assert check_errors(pair, plain) >= 4
            pair.put(OTHERS, [1, 2])
            pair.step()
            plain.take(pair.tensors())
    finally:
        pair.close()


@pytest.mark.parametrize("sparse", [SPARSE, SHARES])
def test_a_trace_moves_nothing(library: ctypes.CDLL, sparse: dict[str, object]) -> None:
    """The largest loss, L and U, lo and hi and statistics are those of training alone, in both."""
    chosen = FqtSettings(batch=2, eta=0.02, range_momentum=0.5, **sparse)  # type: ignore[arg-type]
    traced, alone = (Pair(library, deep("nearest"), chosen) for _ in range(2))
    try:
        for _ in range(4):
            for label in range(3):
                traced.put(OTHERS[::-1], [label, (label + 1) % 3])
                for slot in range(2):
                    traced.trace(slot)
            for pair in (traced, alone):
                pair.put(IMAGES, [0, 1])
                pair.step()
            assert traced.tensors() == alone.tensors()
    finally:
        traced.close()
        alone.close()


def test_the_settings_do_leave_channels_out(library: ctypes.CDLL) -> None:
    """The samples of these steps are sparse, and their errors have other ranges: with whole channels they differ."""
    found = []
    for sparse in ({}, {"error_range": "running"}, SPARSE, SHARES):
        chosen = FqtSettings(batch=2, eta=0.02, range_momentum=0.5, **sparse)  # type: ignore[arg-type]
        pair = Pair(library, deep("nearest"), chosen)
        pair.put(OTHERS, [1, 2])
        for _ in range(2):
            pair.step()
        found.append(pair.tensors())
        pair.close()
    assert all(a != b for at, a in enumerate(found) for b in found[at + 1 :])


def test_an_error_that_leaves_its_bounds_ends_a_trace(library: ctypes.CDLL) -> None:
    """Errors grow by 2^20 with each layer: the step fails, and a trace shows all outputs and the errors before."""
    net = Small(2, 2.0**-40, 0)
    for layer in range(1, 5):
        end = 2.0 ** (14 * layer - 40 + 7)
        net.weighted([[63, -64], [60, -64]], (-end, end), s_w=2.0**14)
    pair = Pair(library, net.weighted([[64, -64], [-64, 64]], (-(2.0**16), 2.0**16)).graph(), FqtSettings(batch=1))
    try:
        pair.put(IMAGES[:1, :, :, :2], [0])
        stages = pair.trace(0)
        assert 5 < len(stages) < 10 and error_of(stages[-1]).s <= 2**40
        assert len(pair.engine.trace(0)) == 4 * len(stages), "a digest of each stage"
        with pytest.raises(StepFailed, match="error"):
            pair.step()
    finally:
        pair.close()
