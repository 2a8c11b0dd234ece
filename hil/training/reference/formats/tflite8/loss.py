"""The loss of the logits (docs/arithmetic-zeroth-order.md, sections 1 and 4), many passes at a time."""

from __future__ import annotations

import numpy as np

from hil.training.reference.floats import F, exp32, log32

LARGEST_DIFFERENCE = F(32)
DELTA_UNIT = F(65536)


def cross_entropy(logits: np.ndarray, labels: np.ndarray, scale: float) -> np.ndarray:
    """Return the loss, float32 [...], of logits [..., classes] of a scale, for labels that broadcast to the rows."""
    q, s = logits.astype(np.int32), F(scale)
    largest = q.max(axis=-1)
    terms = exp32((q - largest[..., None]).astype(F) * s)
    total = np.add.accumulate(terms, axis=-1, dtype=F)[..., -1]  # one after the other; 0.0 + the first is the first
    chosen = np.take_along_axis(q, np.broadcast_to(labels, largest.shape)[..., None].astype(np.intp), -1)[..., 0]
    loss: np.ndarray = log32(total) + (largest - chosen).astype(F) * s
    return loss


def deltas(differences: np.ndarray) -> np.ndarray:
    """Return `delta` of float32 loss differences of any shape, int64."""
    units: np.ndarray = np.rint(np.clip(differences, -LARGEST_DIFFERENCE, LARGEST_DIFFERENCE) * DELTA_UNIT)
    return units.astype(np.int64)


def summed(losses: np.ndarray, before: np.float32) -> np.float32:
    """Return the binary32 sum of losses, one after the other in their flattened order, that goes on from `before`."""
    return F(np.add.accumulate(np.concatenate([[before], losses.ravel()]), dtype=F)[-1])
