"""Turn numbers into bytes: a byte p stands for scale x (p - zero) of its channel."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hil.errors import RigError
from hil.training.data.card import ByteMapping
from hil.training.data.own.network_input import NetworkInput

AT_A_TIME = 1 << 20  # numbers that are binary64 at a time
OF_TRAINING = "lowest and highest number of each channel in the training part"
OF_NETWORK = "scale and zero of the network's input"


def pieces(values: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the first index and the numbers, binary64, of some samples after others."""
    step = max(1, AT_A_TIME // max(1, values[:1].size))
    for start in range(0, len(values), step):
        yield start, values[start : start + step].astype(np.float64)


def check_finite(values: np.ndarray, place: str) -> None:
    """Raise RigError if a number is not finite, or too large for binary32; `place` names the array."""
    most = float(np.finfo(np.float32).max)
    for start, piece in pieces(values):
        wrong = ~(np.abs(piece) <= most)  # also true of NaN
        if wrong.any():
            at = tuple(int(index) for index in np.argwhere(wrong)[0])
            raise RigError(
                f"{place} has {piece[at]} at {[start + at[0], *at[1:]]}: give finite numbers that binary32 can hold."
            )


def range_of(train: np.ndarray) -> ByteMapping:
    """Return scale and zero of each channel of the training samples [n, height, width, channels].

    The lowest number becomes byte 0 and the highest 255, to one step. A channel of one number c has the scale |c| / 127
    and the zero 128.
    """
    channels = train.shape[-1]
    low, high = np.full(channels, np.inf), np.full(channels, -np.inf)
    for _, piece in pieces(train):
        low = np.minimum(low, piece.min(axis=(0, 1, 2)))
        high = np.maximum(high, piece.max(axis=(0, 1, 2)))
    scales, zeros = [], []
    for least, most in zip(low.tolist(), high.tolist(), strict=True):
        scale = (most - least) / 255
        # A spread that binary64 can hardly tell from none counts as none.
        if scale < max(abs(least), abs(most)) * 2.0**-44 or scale == 0 or scale < 1e-300:
            size = abs(least) / 127
            scales.append(size if size >= 1e-300 else 1.0)
            zeros.append(128)
        else:
            scales.append(scale)
            zeros.append(-round(least / scale))
    return ByteMapping(OF_TRAINING, tuple(scales), tuple(zeros))


def range_of_network(of: NetworkInput | None, place: str) -> ByteMapping:
    """Return scale and zero of a network's input. Raises RigError if no network was named."""
    if of is None or of.scale is None or of.zero is None:
        raise RigError(f"the card of {place} says range = 'network', but no network is named: load it in a trial.")
    return ByteMapping(OF_NETWORK, (of.scale,), (of.zero,))


def as_bytes(values: np.ndarray, by: ByteMapping) -> np.ndarray:
    """Return numbers [n, ..., channels] as uint8, rounded to nearest, halves to even, and clipped to 0..255."""
    out = np.empty(values.shape, np.uint8)
    scale, zero = np.array(by.scale), np.array(by.zero, np.float64)
    for start, piece in pieces(values):
        out[start : start + len(piece)] = np.clip(np.rint(piece / scale) + zero, 0, 255)
    return out
