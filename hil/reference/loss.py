"""Loss and error of the logits (docs/arithmetic.md, sections 5 and 6), a whole batch at a time."""

from __future__ import annotations

import numpy as np

from hil.reference.arith import psto_shift
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


def integer_losses(
    plus: tuple[np.ndarray, np.ndarray], minus: tuple[np.ndarray, np.ndarray], labels: np.ndarray
) -> tuple[int, int]:
    """Return L_plus and L_minus of INT8*: ElasticZO, equations (9) to (12); the sums themselves for one sample.

    Args:
        plus, minus: logits int8 [B, classes] and exponents int [B] of the two passes.
        labels: [B].
    """
    powers = [_log2_powers(logits.astype(np.int64), exponents, labels) for logits, exponents in (plus, minus)]
    offset = np.concatenate(powers, axis=1).max(axis=1, keepdims=True) - 10
    sums = [(1 << np.maximum(power - offset, 0)).sum(axis=1) for power in powers]
    if len(labels) == 1:
        return int(sums[0][0]), int(sums[1][0])
    floors = [int((np.frexp(column)[1] - 1).sum()) for column in sums]  # frexp gives bits(m) of an integer m
    return floors[0], floors[1]


def _log2_powers(logits: np.ndarray, exponents: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the exponents to base two of e^(logit - logit of the label), floored, int64 [B, classes]."""
    margins = logits - logits[np.arange(len(labels)), labels][:, None]
    return margins * LOG2_E_Q15 >> (15 - np.clip(exponents, -16, 15))[:, None]


def logits_error(logits: np.ndarray, exponents: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the integer error of the logits (section 6), int8 [B, classes]; its exponent is -7 for every sample."""
    powers = _powers(logits.astype(np.int64), exponents[:, None])
    errors = psto_shift(powers * 2**11 // powers.sum(axis=1, keepdims=True), 4)
    rows = np.arange(len(labels))
    errors[rows, labels] = 0
    errors[rows, labels] = -np.minimum(errors.sum(axis=1), 127)
    return errors.astype(np.int8)


def _powers(a: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return e^(a 2^s) up to a common factor of each sample, as integers: of logits [B, classes] and exponents [B, 1]."""
    h = a * LOG2_E_Q15 >> (15 - np.clip(s, -6, 8))
    powers = 1 << np.maximum(h - (h.max(axis=1, keepdims=True) - 10), 0)
    reduced, low = np.sign(a) * (np.abs(a) >> np.clip(-8 - s, 0, 8)), np.clip(s, -8, -7)
    polynomial = (1 << (1 - 2 * low)) + reduced * (1 << (1 - low)) + reduced * reduced
    return np.where(s > -7, powers, polynomial)
