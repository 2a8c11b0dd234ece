"""What a reference shows of the gradients of one sample."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class SampleGradient:
    """The gradient of the loss of one sample by the weights of a layer, before it is standardised.

    Attributes:
        layer: its name.
        weights: float32 [O, K]: output channels, and what the weights of one of them multiply.
        kept: whether the sample keeps a channel, bool [O]; None if the settings skip none.
    """

    layer: str
    weights: np.ndarray
    kept: np.ndarray | None


class ShowsSampleGradients(ABC):
    """A reference that can show them."""

    @abstractmethod
    def sample_gradients(self, image: np.ndarray, label: int) -> list[SampleGradient]:
        """Return the gradients of the trained layers, input to output, if the next step began with this sample.

        Nothing that decides a later step changes.

        Args:
            image: uint8 [H, W] or [H, W, C].
            label: its class.

        Raises:
            StepFailed: the backward pass of the sample fails.
        """
