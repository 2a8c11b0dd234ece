"""Loss and error of the logits (docs/arithmetic-float32.md, section 4), of many samples at a time."""

from __future__ import annotations

import numpy as np

from hil.training.reference.floats import F, exp32, log32
from hil.training.reference.formats.float32.sums import ordered_sum


def losses(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the loss of each sample, float32 [B], of logits float32 [classes, B] and integer labels [B]."""
    largest = logits.max(axis=0)
    total = ordered_sum(exp32(logits - largest))
    found: np.ndarray = log32(total) + (largest - logits[labels, np.arange(len(labels))])
    return found


def logits_error(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the error of the logits, float32 [classes, B]; arguments as of `losses`."""
    terms = exp32(logits - logits.max(axis=0))
    d: np.ndarray = terms / ordered_sum(terms)
    d[labels, np.arange(len(labels))] -= F(1)
    return d
