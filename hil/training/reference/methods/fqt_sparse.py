"""Dynamic sparse updates: the channels of a sample that take part in its backward pass.

See docs/arithmetic-fqt.md, section 4.
"""

from __future__ import annotations

import numpy as np

from hil.training.methods.fqt_settings import FqtSettings
from hil.training.reference.floats import F


class KeptShare:
    """The share of the channels that is kept, which follows the loss; `configure` begins anew.

    Attributes:
        largest: L_max, the largest loss so far.
    """

    def __init__(self, settings: FqtSettings) -> None:
        self.largest = F(0)
        self._least, self._most = F(settings.lambda_min), F(settings.lambda_max)
        self._ratio = settings.rate == "ratio"

    def of(self, losses: np.ndarray) -> np.ndarray:
        """Return the share of each sample, float32 [B], and take its loss in; `losses` are float32 in their order."""
        largest = np.maximum.accumulate(np.concatenate([[self.largest], losses]))[1:]
        self.largest = largest[-1]
        if self._ratio:
            r = np.where(largest == 0, F(0), losses / np.where(largest == 0, F(1), largest))
        else:
            r = largest - losses
        share: np.ndarray = np.minimum(self._least + r * (self._most - self._least), F(1))
        return share


def count(share: np.ndarray, channels: int) -> np.ndarray:
    """Return k, int64 [B], of shares [B] and a number of channels."""
    return np.maximum(np.floor(share * F(channels)), 1).astype(np.int64)


def kept(norms: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return which channels of each sample are kept, bool [B, O]: the k [B] with the largest norms [B, O].

    Of equal norms the channel with the lower index comes first.
    """
    order = np.argsort(-norms, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(norms.shape[1])[None], axis=1)
    return rank < k[:, None]
