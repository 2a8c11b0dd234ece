"""Three steps, an evaluation and a trace of a row, the same way on everyone who is held against the golden files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from hil.training.data import load
from hil.training.methods import Method

from .rows import DATA, EVALUATED


class Stepped(Protocol):
    """What a step gives."""

    @property
    def loss_plus(self) -> float: ...
    @property
    def loss_minus(self) -> float: ...
    @property
    def sign(self) -> int: ...
    @property
    def digests(self) -> tuple[int, ...]: ...


class Trainer(Protocol):
    """The NumPy reference, the C engine built for this computer, or a board.

    Attributes:
        name: who this is, in messages.
    """

    name: str

    def begin(self, of: Method) -> int | None:
        """Take network and settings; return the bytes of arena that are planned, where there is an arena."""
        ...

    def digests(self) -> tuple[int, ...]:
        """Return the digest of every trained tensor."""
        ...

    def samples(self, images: np.ndarray, labels: np.ndarray) -> None:
        """Take a batch, in slots 0.. ."""
        ...

    def step(self, step: int, count: int) -> Stepped:
        """Train on the batch."""
        ...

    def infer(self) -> tuple[int, int]:
        """Return the predicted class of the sample in slot 0, and the digest of its logits."""
        ...

    def trace(self, slot: int, stages: int) -> Sequence[int]:
        """Return the digest of every stage of a sample."""
        ...


def train(trainer: Trainer, of: Method, samples: Sequence[Sequence[int]], stages: int) -> dict[str, Any]:
    """Train and return what was found, in the fields of a golden row.

    Args:
        trainer: who trains.
        of: network, method and settings.
        samples: indices of the training images of every step.
        stages: of a trace, as many as the row has.
    """
    data = load(DATA)
    planned = trainer.begin(of)
    found: dict[str, Any] = {
        "start": hexed(trainer.digests()),
        "steps": [],
        "evaluation": {"images": list(EVALUATED), "predictions": [], "logits": []},
    }
    for step, chosen in enumerate(samples):
        trainer.samples(data.train_images[chosen], data.train_labels[chosen])
        done = trainer.step(step, len(chosen))
        found["steps"].append({
            "loss_plus": done.loss_plus, "loss_minus": done.loss_minus, "sign": int(done.sign), "digests": hexed(done.digests),
        })  # fmt: skip
    for image in EVALUATED:
        trainer.samples(data.test_images[[image]], data.test_labels[[image]])
        prediction, digest = trainer.infer()
        found["evaluation"]["predictions"].append(prediction)
        found["evaluation"]["logits"] += hexed([digest])
    trainer.samples(data.train_images[samples[-1]], data.train_labels[samples[-1]])
    found["trace"] = hexed(trainer.trace(len(samples[-1]) - 1, stages))
    return found if planned is None else found | {"planned": planned}


def hexed(digests: Sequence[int]) -> list[str]:
    """Return digests as they are written."""
    return [f"{digest:08x}" for digest in digests]
