"""One step on the board: a batch larger than the slots is sent in parts in each pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

import numpy as np

from hil.link.replies import Stepped
from hil.training.methods.request import MethodRequest
from hil.training.trial.device import Device

T = TypeVar("T")
Counted = Callable[[int, int, str], None]


class Carries(Protocol):
    """Carries out a request, and may measure it."""

    def __call__(self, call: Callable[[], T]) -> T:
        """Return the result of a call that makes one request."""


def at_once(call: Callable[[], T]) -> T:
    """Carry out a request that nothing measures."""
    return call()


@dataclass(frozen=True)
class BoardSteps:
    """Trains steps on a board.

    Attributes:
        device: configured for a method with so many slots.
        request, slots: what it was configured with.
        counted: told how many samples a part has processed, how many were sent, and where that was.
    """

    device: Device
    request: MethodRequest
    slots: int
    counted: Counted | None = None

    def train(self, step: int, images: np.ndarray, labels: np.ndarray, timed: Carries = at_once) -> Stepped:
        """Train a step and return the reply.

        Args:
            step: its index.
            images, labels: uint8 [B, H, W] or [B, H, W, C], and [B].
            timed: carries out each request that computes.
        """
        n = len(images)
        if n <= self.slots:
            self.device.samples(images, labels)
            return timed(partial(self.device.step, step, n))
        for number in range(self.request.passes()):
            for first in range(0, n, self.slots):
                part = slice(first, first + self.slots)
                self.device.samples(images[part], labels[part])
                count = len(images[part])
                done = timed(partial(self.device.part, step, number, first, count))
                if self.counted is not None:
                    self.counted(done, first + count, f" of pass {number} in step {step}")
        return timed(partial(self.device.step, step, n))
