"""Loss and error of the logits (docs/arithmetic.md, sections 5 and 6), a whole batch at a time."""

from __future__ import annotations

import numpy as np

from hil.reference.arith import psto_shift, trunc_shift
from hil.reference.floats import F, exp32, log32

LOG2_E_Q15 = 47274
ERROR_EXP = -7


def cross_entropy(logits: np.ndarray, exponents: np.ndarray, labels: np.ndarray) -> np.float32:
    """Return the loss summed over the batch, in order.

    Args:
        logits: int8 [B, classes].
        exponents: int [B].
        labels: [B].
    """
    largest = logits.astype(np.int64).max(axis=1)
    scale = np.exp2(np.clip(exponents, -60, 60)).astype(F)
    x = (logits - largest[:, None]).astype(F) * scale[:, None]
    exponentials = exp32(x)
    total = np.zeros(len(logits), F)
    for column in exponentials.T:
        total = total + column
    margin = (largest - logits[np.arange(len(labels)), labels]).astype(F)
    loss = F(0)
    for sample in log32(total) + margin * scale:
        loss = F(loss + sample)
    return loss


def logits_error(logits: np.ndarray, exponents: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return NITI's integer error of the logits, int8 [B, classes]; its exponent is -7 for every sample."""
    powers = np.stack(
        [_powers(row.astype(np.int64), int(exponent)) for row, exponent in zip(logits, exponents, strict=True)]
    )
    shares = powers * 2**11 // powers.sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    shares[rows, labels] -= shares.sum(axis=1)
    return psto_shift(shares, 4).astype(np.int8)


def _powers(a: np.ndarray, s: int) -> np.ndarray:
    """Return e^(a 2^s) up to a common factor, as integers."""
    if s > -7:
        h = a * LOG2_E_Q15 >> (15 - min(s, 8))
        return 1 << np.maximum(h - (h.max() - 10), 0)
    reduced = trunc_shift(a, min(max(-8 - s, 0), 8))
    s = max(s, -8)
    return (1 << (1 - 2 * s)) + reduced * (1 << (1 - s)) + reduced * reduced
