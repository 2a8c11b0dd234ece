"""Layers and values in `w16a8` for hypothesis: shapes that fill no vector, sums that leave int32."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from network.in_format import in_format
from network.w16a8_graphs import alone, parameters

from hil.training.graph.formats import POOLS, Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import AddFactors, W16A8Node
from hil.training.graph.w16a8_contents import needs_saturating_shift

from . import drawn_floats

ZEROS = st.one_of(st.sampled_from([-128, -1, 0, 127]), st.integers(-128, 127))
KINDS = ("any", "small", "signs", "largest", "least", "zero")
MULTIPLIERS = st.one_of(st.sampled_from([2**30, 2**31 - 1]), st.integers(2**30, 2**31 - 1))


def drawn(kind: str, shape: tuple[int, ...], low: int, high: int, rng: np.random.Generator) -> np.ndarray:
    """Return integers within limits, of which 0 is one."""
    if kind in ("largest", "least"):
        return np.full(shape, high if kind == "largest" else low)
    found = rng.integers(low, high + 1, shape)
    if kind == "signs":
        return np.where(found < 0, low, high)
    return found * (kind != "zero") // (64 if kind == "small" else 1)


@st.composite
def values(draw: st.DrawFn, shape: tuple[int, ...], zero: int) -> np.ndarray:
    """Draw int8 values less their zero point, int16."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return drawn(draw(st.sampled_from(KINDS)), shape, -128 - zero, 127 - zero, rng).astype(np.int16)


@st.composite
def layers(draw: st.DrawFn, op: Op) -> Graph:
    """Draw a network of one layer whose sums have a bound; an add reads its input twice."""
    node, zero, out_zero = draw(drawn_floats.layers(op)), draw(ZEROS), draw(ZEROS)
    low, high = sorted((draw(st.integers(-128, 127)), draw(st.integers(-128, 127))))
    node = in_format(
        W16A8Node, node, reads=(0,) * len(node.reads), act_min=low, act_max=high, zero=zero if op in POOLS else out_zero,
        scale=1.0,
    )  # fmt: skip
    if op is Op.ADD:
        multipliers = tuple(draw(MULTIPLIERS) for _ in range(3))
        shifts = tuple(draw(st.integers(-31, 0)) for _ in range(3))
        node = replace(node, factors=AddFactors(multipliers, shifts))
    elif op not in POOLS:
        node = replace(node, own=draw(owned(op, node.in_shape, node.kernel, node.out_shape[2], zero)))
    return alone(node, zero)


@st.composite
def owned(
    draw: st.DrawFn, op: Op, in_shape: tuple[int, int, int], kernel: tuple[int, int], outputs: int, zero: int
) -> object:
    largest = draw(st.sampled_from([32767, 127]))
    shape = {
        Op.DEPTHWISE: (*kernel, outputs),
        Op.FULLY_CONNECTED: (outputs, int(np.prod(in_shape))),
    }.get(op, (outputs, *kernel, in_shape[2]))
    taps = kernel[0] * kernel[1] if op is Op.DEPTHWISE else int(np.prod(shape[1:]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    weights = drawn(draw(st.sampled_from(KINDS)), shape, -largest, largest, rng)
    biases = drawn(draw(st.sampled_from(KINDS)), (outputs,), -(2**30), 2**30, rng)
    least = -22 if needs_saturating_shift(taps, largest, zero) else -31
    fitting = -(int(np.abs(weights).sum()) // outputs * 64).bit_length() + 7  # most outputs are inside their limits
    shift = draw(st.one_of(st.integers(least, -2), st.integers(fitting - 2, fitting + 2)))
    shift = min(max(shift, least), -2)
    return parameters(weights, biases, factor=(draw(MULTIPLIERS), shift), largest=largest)
