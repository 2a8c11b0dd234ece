"""What all runs of an experiment have in common (`ExponentRun`, `GraphRun`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hil.reference.methods import StepOutcome

Schedule = tuple[tuple[int, Mapping[str, float]], ...]  # changes of settings, each with its first step
Tensors = Sequence[np.ndarray]
Given = tuple[tuple[str, int | float | str], ...]  # settings by name, comparable and serialisable


class BaseRun:
    """Base of the dataclasses with everything that decides the bits of a run; their fields are written to run.json."""

    data: str
    column: str
    variant: str
    seed: int
    tag: str
    start: str | None = None
    compares = False
    has_state = False  # whether more than the weights decides later steps: momentum, moments, masks
    on_board = True  # whether a board can repeat it

    @property
    def name(self) -> str:
        """Name of the run's folder."""
        tag = f"-{self.tag}" if self.tag else ""
        return f"{self.data}-{self.column}-{self.variant}{tag}-seed{self.seed}"

    def right_sign(self, outcome: StepOutcome) -> bool | None:
        """Return whether the step had the sign of the float losses; None if the method uses no sign."""
        return None
