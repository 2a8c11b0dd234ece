"""Loss and error of the logits (docs/arithmetic.md, sections 5 and 6), a whole batch at a time."""

from __future__ import annotations

import numpy as np

from hil.training.reference.arith import psto_shift
from hil.training.reference.floats import F, exp32, log32

LOG2_E_Q15 = 47274
ERROR_EXP = -7
TABLE_BITS = 6
POWERS = np.rint(2.0 ** (12 + np.arange(2**TABLE_BITS) / 2**TABLE_BITS)).astype(np.int64)  # T of section 5


def cross_entropy(logits: np.ndarray, exponents: np.ndarray, labels: np.ndarray) -> np.float32:
    """Return the loss of logits int8 [B, classes], exponents int [B] and labels [B], summed over the batch in order."""
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
    plus: tuple[np.ndarray, np.ndarray], minus: tuple[np.ndarray, np.ndarray], labels: np.ndarray, fraction: int
) -> tuple[int, int]:
    """Return L_plus and L_minus of INT8*: ElasticZO, equations (9) to (12); the sums themselves for one sample.

    Args:
        plus, minus: logits and exponents of the two passes, as of `cross_entropy`.
        labels: [B].
        fraction: F, bits below the point in powers and logarithms; 0 is the paper's form.
    """
    powers = [_log2_powers(logits.astype(np.int64), exponents, labels, fraction) for logits, exponents in (plus, minus)]
    offset = np.concatenate(powers, axis=1).max(axis=1, keepdims=True) - (10 << fraction)
    sums = [_power_of_two(np.maximum(power - offset, 0), fraction).sum(axis=1) for power in powers]
    if len(labels) == 1:
        return int(sums[0][0]), int(sums[1][0])
    logarithms = [int(_log2(column, fraction).sum()) for column in sums]
    return logarithms[0], logarithms[1]


def _log2_powers(logits: np.ndarray, exponents: np.ndarray, labels: np.ndarray, fraction: int) -> np.ndarray:
    """Return log2 of e^(logit - logit of the label) in units of 2^-F, floored, int64 [B, classes]."""
    margins = logits - logits[np.arange(len(labels)), labels][:, None]
    powers: np.ndarray = margins * LOG2_E_Q15 >> (15 - fraction - np.clip(exponents, -16, 15 - fraction))[:, None]
    return powers


def _power_of_two(t: np.ndarray, fraction: int) -> np.ndarray:
    """Return 2^t for t in units of 2^-F, 0 or more: exact for F = 0, from a table in units of 2^-12 else."""
    if fraction == 0:
        power: np.ndarray = np.left_shift(1, t)
        return power
    whole = t >> fraction
    power = POWERS[(t - (whole << fraction)) << (TABLE_BITS - fraction)] << whole
    return power


def _log2(x: np.ndarray, fraction: int) -> np.ndarray:
    """Return the binary logarithm of int64 x > 0 in units of 2^-F: a bit for each squaring of the mantissa."""
    result: np.ndarray = np.frexp(x)[1].astype(np.int64) - 1  # frexp gives bits(m) of an integer m
    mantissa = x.astype(np.uint64) << (31 - result).astype(np.uint64)
    for _ in range(fraction):
        mantissa = mantissa * mantissa >> np.uint64(31)
        carry = mantissa >> np.uint64(32)
        result = 2 * result + carry.astype(np.int64)
        mantissa >>= carry
    return result


def logits_error(logits: np.ndarray, exponents: np.ndarray, labels: np.ndarray, form: str) -> np.ndarray:
    """Return the integer error of the logits (section 6), int8 [B, classes]; its exponent is -7 for every sample.

    Arguments as of `cross_entropy`; the form is `niti` or `zero-sum`.
    """
    powers = _powers(logits.astype(np.int64), exponents[:, None], int(form == "niti"))
    shares: np.ndarray = powers * 2**11 // powers.sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    if form == "niti":
        shares[rows, labels] -= shares.sum(axis=1)
        return psto_shift(shares, 4).astype(np.int8)
    errors = psto_shift(shares, 4)
    errors[rows, labels] = 0
    errors[rows, labels] = -np.minimum(errors.sum(axis=1), 127)
    return errors.astype(np.int8)


def _powers(a: np.ndarray, s: np.ndarray, less: int) -> np.ndarray:
    """Return e^(a 2^s) up to a common factor of each sample, as integers: of logits [B, classes] and exponents [B, 1].

    Where powers of two stand for them, each is lowered by `less` (0 or 1).
    """
    h = a * LOG2_E_Q15 >> (15 - np.clip(s, -6, 8))
    powers: np.ndarray = (1 << np.maximum(h - (h.max(axis=1, keepdims=True) - 10), 0)) - less
    reduced, low = np.sign(a) * (np.abs(a) >> np.clip(-8 - s, 0, 8)), np.clip(s, -8, -7)
    polynomial: np.ndarray = (1 << (1 - 2 * low)) + reduced * (1 << (1 - low)) + reduced * reduced
    return np.where(s > -7, powers, polynomial)
