"""The C engine of the firmware, built for this computer, as a trainer of golden rows."""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from engine.host_engine import Engine

from hil.training.methods import Method

from .train import Stepped

ROOM = 4 << 20  # bytes of arena


def engine_library(firmware: Path, build: Path, *options: str) -> Path:
    """Build the engine of a folder of firmware for this computer, with further options of the compiler; return its library."""
    compiler = " ".join((os.environ.get("CC", "cc"), *options))
    command = ["make", "-C", str(firmware / "host"), f"BUILD={build}", f"CC={compiler}", "all"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return build / "libtrainrig_host.so"


class CTrainer:
    """An engine of a shared library.

    Args:
        library: made of firmware/host, or of a copy of it.
        name: in messages.
    """

    def __init__(self, library: ctypes.CDLL, name: str = "the C engine of this computer") -> None:
        self._library, self.name = library, name
        self._engine: Engine | None = None

    def begin(self, of: Method) -> int:
        """Load the network and place the buffers."""
        self.close()
        self._engine = Engine(self._library, of.plan.file(), ROOM)
        return self._engine.configure_by(of.request.configuration(of.settings, of.settings.batch, 0))

    def close(self) -> None:
        """Give the memory back."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    @property
    def engine(self) -> Engine:
        """The engine that has begun."""
        assert self._engine is not None
        return self._engine

    def digests(self) -> tuple[int, ...]:
        """Return the digest of every trained tensor."""
        return self.engine.digests()

    def samples(self, images: np.ndarray, labels: np.ndarray) -> None:
        """Fill the slots."""
        self.engine.samples(images, labels.tolist())

    def step(self, step: int, count: int) -> Stepped:
        """Train on the batch."""
        return self.engine.step(step, count)

    def infer(self) -> tuple[int, int]:
        """Return the predicted class of the sample in slot 0, and the digest of its logits."""
        _, digest, predictions = self.engine.infer(1)
        return predictions[0], digest

    def trace(self, slot: int, stages: int) -> Sequence[int]:
        """Return the digest of every stage of a sample."""
        data = self.engine.trace(slot)
        return struct.unpack(f"<{len(data) // 4}I", data)
