"""Kinds of faults that meet a checkpoint of `hil campaign`: in the flash of the board, or on this computer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .fault import Fault, Kind, Measured
from .long_run import STEPS

SLOTS = 0x08180000  # of the board's flash: where its checkpoints lie (docs/trials.md)
OPERATIONS = 59  # erases and programmed flash words of one checkpoint, header included
BRIEF_S = 0.6  # a step, its checkpoint on this computer, and its checkpoint on the board take about as long


def _supply(rng: np.random.Generator, measured: Measured) -> Fault:
    operation = int(rng.integers(1, STEPS * OPERATIONS + 1))
    return Fault(
        "checkpoint: the supply fails while the board writes it",
        f"operation {operation} of the flash",
        "campaign",
        inject=(f"flash_cut:{SLOTS}:{operation}",),
    )


def _kind(name: str, act: str, options: dict[str, Any]) -> Kind:
    """Return a kind whose act comes soon after the journal has a step, as checkpoints do."""

    def draw(rng: np.random.Generator, measured: Measured) -> Fault:
        steps, after_s = int(rng.integers(1, STEPS + 1)), round(float(rng.uniform(0, BRIEF_S)), 3)
        moment = f"{after_s:.3f} s after the journal has {steps} of {STEPS} steps"
        return Fault(name, moment, "campaign", act, after_s=after_s, options=options | {"steps": steps})

    return Kind(name, "campaign", draw)


def _kinds() -> Iterator[Kind]:
    yield Kind("checkpoint: the supply fails while the board writes it", "campaign", _supply)
    for name in ("SIGKILL", "SIGTERM"):
        yield _kind(f"checkpoint: {name} to the campaign", "signal", {"name": name})
    yield _kind("checkpoint: disk full", "fill", {})


CHECKPOINT_KINDS: tuple[Kind, ...] = tuple(_kinds())
