"""A board as a trainer of golden rows, through the client that trials use: the same probe, link and requests."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from hil.dut import opened
from hil.rig import Rig
from hil.training.methods import Method
from hil.training.trial.device import STEP_DEADLINE_S, Device
from hil.training.trial.lockstep import SLOWEST_MACS_S
from tests.unit.golden.train import Stepped

BOARD = "stm32h7b3"


class BoardTrainer:
    """A board that has been flashed and greeted; it takes one row after the other.

    Args:
        device: the board.
    """

    def __init__(self, device: Device) -> None:
        self._device, self.name = device, f"the virtual board {device.identity.board}"

    def begin(self, of: Method) -> int:
        """Load the network and configure; a step has as long as in a trial."""
        self._device.step_deadline_s = max(STEP_DEADLINE_S, of.figures.step_macs() / SLOWEST_MACS_S)
        self._device.load(of.plan.file())
        self._classes = of.network.classes
        return self._device.configure(of.request.configuration(of.settings, of.settings.batch, 0)).arena_planned

    def digests(self) -> tuple[int, ...]:
        """Return the digest of every trained tensor."""
        return self._device.digests()

    def samples(self, images: np.ndarray, labels: np.ndarray) -> None:
        """Stream a batch."""
        self._device.samples(images, labels)

    def step(self, step: int, count: int) -> Stepped:
        """Train on the batch."""
        return self._device.step(step, count)

    def infer(self) -> tuple[int, int]:
        """Return the predicted class of the sample in slot 0, and the digest of its logits."""
        reply = self._device.infer(1, self._classes)
        return reply.predictions[0], reply.logits_digest

    def trace(self, slot: int, stages: int) -> Sequence[int]:
        """Return the digest of every stage of a sample."""
        return self._device.trace(slot, stages)


@contextlib.contextmanager
def virtual_board(name: str, rig: Rig, folder: Path) -> Iterator[BoardTrainer]:
    """Take a board's virtual stand-in, bring the prebuilt image onto it and greet it."""
    with opened(rig, name, None, folder, serial_log=False) as dut:
        dut.flash()
        yield BoardTrainer(Device(dut.agent, dut.board, dut.image))
