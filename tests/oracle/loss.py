"""Loss and error of the logits, one sample at a time: docs/arithmetic.md, sections 5 and 6."""

from __future__ import annotations

import numpy as np

from tests.oracle.numbers import F32, Tensor, bits, exp32, log32, psto_shift, trunc_shift


def sample_loss(logits: Tensor, label: int) -> np.float32:
    """Return the cross-entropy of one sample (section 5)."""
    top, scale = max(logits.values), F32(2.0 ** min(max(logits.exponent, -60), 60))
    total = F32(0.0)
    for a in logits.values:
        total = total + exp32(F32(a - top) * scale)
    return log32(total) + F32(top - logits.values[label]) * scale


def logits_error(logits: Tensor, label: int, form: str) -> Tensor:
    """Return the error of the logits of one sample by its form, `niti` or `zero-sum` (section 6)."""
    a, s = logits.values, logits.exponent
    if s > -7:
        h = [(a_j * 47274) >> (15 - min(s, 8)) for a_j in a]
        d = 1 if form == "niti" else 0
        v = [2 ** max(h_j - (max(h) - 10), 0) - d for h_j in h]
    else:
        n = min(max(-8 - s, 0), 8)
        s = max(s, -8)
        small = [trunc_shift(a_j, n) for a_j in a]
        v = [2 ** (1 - 2 * s) + a_j * 2 ** (1 - s) + a_j * a_j for a_j in small]
    total = sum(v)
    shares = [v_j * 2**11 // total for v_j in v]
    errors = [psto_shift(share, 4) for share in shares]
    if form == "niti":
        errors[label] = psto_shift(shares[label] - sum(shares), 4)
    else:
        errors[label] = -min(sum(errors) - errors[label], 127)
    return Tensor(errors, -7)


def integer_losses(plus: list[Tensor], minus: list[Tensor], labels: list[int], fraction: int) -> tuple[int, int]:
    """Return L_plus and L_minus of INT8* over the samples of a step, with F fraction bits (section 5)."""
    pairs = [sample_sums(a, b, label, fraction) for a, b, label in zip(plus, minus, labels, strict=True)]
    if len(pairs) == 1:
        return pairs[0]
    return sum(binary_log(a, fraction) for a, _ in pairs), sum(binary_log(b, fraction) for _, b in pairs)


def sample_sums(plus: Tensor, minus: Tensor, label: int, fraction: int) -> tuple[int, int]:
    """Return A and B of one sample, with F fraction bits (section 5)."""
    hats = []
    for logits in (plus, minus):
        shift = 15 - fraction - min(max(logits.exponent, -16), 15 - fraction)
        hats.append([(47274 * (a - logits.values[label])) >> shift for a in logits.values])
    p = max(max(hats[0]), max(hats[1])) - 10 * 2**fraction
    a, b = (sum(power(max(hat - p, 0), fraction) for hat in hat_j) for hat_j in hats)
    return a, b


def power(t: int, fraction: int) -> int:
    """Return 2^(t / 2^F): itself for F = 0, in units of 2^-12 from the table T else (section 5)."""
    if fraction == 0:
        return 2**t
    n = t >> fraction
    return round(2 ** (12 + (t - n * 2**fraction) / 2**fraction)) * 2**n


def binary_log(x: int, fraction: int) -> int:
    """Return lb(x), the binary logarithm with F fraction bits (section 5)."""
    n = bits(x) - 1
    m, r = x * 2 ** (31 - n), n
    for _ in range(fraction):
        m = (m * m) >> 31
        r = 2 * r + (m >= 2**32)
        m >>= m >= 2**32
    return r
