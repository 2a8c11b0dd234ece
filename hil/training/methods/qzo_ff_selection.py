"""How many weights a sparse update of QZO-FF selects, and the bytes of what it keeps of them.

docs/arithmetic-qzo-ff.md, section 7, and docs/memory.md, section w16a8, QZO-FF.
"""

from __future__ import annotations

import numpy as np

from hil.training.methods.prng import mix32, words
from hil.training.methods.qzo_ff_settings import QzoFfSettings

LONGEST_GAP = 255  # a byte that leaves out so many weights, and selects none
MOST_GAPS = 30  # the largest `keep` with which gaps are kept, not bits
BLOCK, BLOCK_WORDS = 32, 63  # elements whose moments lie together: the last V is in the signs of the others


def top_count(size: int, keep: int) -> int:
    """Return how many weights of a tensor `top` selects."""
    return max(1, (size * keep + 128) // 256)


def drawn(settings: QzoFfSettings, tensor: int, size: int) -> np.ndarray:
    """Return which weights `random` selects, bool [size]; `tensor` is the index among the trained tensors, from 0."""
    state = mix32(mix32(settings.seed) ^ (0x27D4EB2F * (tensor + 1) & 0xFFFFFFFF)) or 0x6D2B79F5
    mask: np.ndarray = words(state, -(-size // 4)).astype("<u4").view(np.uint8)[:size] < settings.keep
    return mask


def selected(settings: QzoFfSettings, tensor: int, size: int) -> int:
    """Return for how many of a tensor's weights there is room: those that are selected; with `threshold` all."""
    if settings.sparse == "top":
        return top_count(size, settings.keep)
    return int(drawn(settings, tensor, size).sum()) if settings.sparse == "random" else size


def selection_bytes(settings: QzoFfSettings, count: int, size: int) -> int:
    """Return the bytes of a selection of `count` among `size` weights: gaps, or bits."""
    if settings.sparse == "threshold" or settings.keep > MOST_GAPS:
        return (size + 7) // 8
    return count + size // LONGEST_GAP + 1


def moments_bytes(count: int) -> int:
    """Return the bytes of the moments of so many elements."""
    return 4 * (count // BLOCK * BLOCK_WORDS + 2 * (count % BLOCK))
