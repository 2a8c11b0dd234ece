"""Batches of int8 tensors for hypothesis: values at their limits, exponents far apart."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from hil.training.reference.native.bfp8.library import Group

KINDS = ("uniform", "extreme", "largest", "least", "small", "zero", "positive")


@st.composite
def values(draw: st.DrawFn, shape: tuple[int, ...]) -> np.ndarray:
    """Draw int8 values in -127..127 of one of KINDS."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    uniform = rng.integers(-127, 128, shape)
    return {
        "uniform": uniform,
        "extreme": rng.choice([-127, 127], shape),
        "largest": np.full(shape, 127),
        "least": np.full(shape, -127),
        "small": rng.integers(-2, 3, shape),
        "zero": np.zeros(shape),
        "positive": np.maximum(uniform, 0),
    }[draw(st.sampled_from(KINDS))].astype(np.int8)


@st.composite
def groups(draw: st.DrawFn, shape: tuple[int, ...]) -> Group:
    """Draw a batch whose samples are of several kinds, with exponents far apart."""
    batch = draw(st.integers(1, 9))
    drawn = np.stack([draw(values(shape)) for _ in range(min(batch, 3))])
    exponents = draw(st.lists(st.integers(-60, 60), min_size=batch, max_size=batch))
    return np.ascontiguousarray(np.resize(drawn, (batch, *shape))), np.array(exponents, np.int64)


def last(values_of: np.ndarray) -> np.ndarray:
    """Return [B, H, W, C] as [H, W, C, B]."""
    return np.ascontiguousarray(np.moveaxis(values_of, 0, -1))
