"""What all runs of an experiment have in common (`kinds.py` lists the kinds)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

import numpy as np

from hil.training.data.names import public_name
from hil.training.reference.methods import Reference, StepOutcome

Schedule = tuple[tuple[int, Mapping[str, float]], ...]  # changes of settings, each with its first step
Tensors = Sequence[np.ndarray]
Given = tuple[tuple[str, int | float | str], ...]  # settings by name, comparable and serialisable
AnyRun = TypeVar("AnyRun", bound="BaseRun")
SEGMENT = 20  # most steps in a segment for a board,
SEGMENT_MACS = 500_000_000  # and most multiply-accumulates: half a minute on a stand-in


class TrainedRuns(Protocol):
    """The trained runs of an experiment, from which another run chooses what it leaves open (choose_run.py)."""

    def best_rate(self, stem: str) -> float:
        """Return the learning rate that a search chooses."""

    def best_run(self, names: Sequence[str]) -> int:
        """Return the place of the run with the best last accuracy; equals are decided by the loss."""

    def settings_of(self, name: str) -> Given:
        """Return the `given` settings of a run, with what it chose."""


class BaseRun:
    """Base of the dataclasses with everything that decides the bits of a run; their fields are written to run.json."""

    data: str
    column: str
    variant: str
    seed: int
    given: Given
    tag: str
    start: str | None = None
    eta: float | None = None  # the learning rate; None: the method has none, or the best of a search
    tasks = 0  # few-shot tasks that are trained, each by itself; 0: the data set is trained
    compares = False
    has_test_loss = False  # whether the logits are numbers with exponents, or floats
    has_state = False  # whether more than the weights decides later steps: momentum, moments, masks
    on_board = True  # whether a board can repeat it

    @property
    def name(self) -> str:
        """Name of the run's folder."""
        tag = f"-{self.tag}" if self.tag else ""
        return f"{public_name(self.data)}-{self.column}-{self.variant}{tag}-seed{self.seed}"

    def resolved(self: AnyRun, trained: TrainedRuns) -> AnyRun:
        """Return the run with everything chosen that it leaves open."""
        return self

    def searches(self) -> tuple[str, ...]:
        """Return the stems of the searches that its learning rate may come from."""
        stems = getattr(self, "rate_from", ())
        return (stems,) if isinstance(stems, str) and stems else tuple(stems)

    def backward_macs(self, learner: Reference) -> float | None:
        """Return the multiply-accumulates of the backward pass of the last step, a sample; None: not counted."""
        return None

    def right_sign(self, outcome: StepOutcome) -> bool | None:
        """Return whether the step had the sign of the float losses; None if the method uses no sign."""
        return None


def longest_segment(step_macs: int) -> int:
    """Return the number of steps of so many multiply-accumulates that a stand-in trains in about half a minute."""
    return min(max(SEGMENT_MACS // step_macs, 1), SEGMENT)


def share_moved(weights: Tensors, first: Tensors) -> float:
    """Return the share of the trained numbers that differ from their initial values."""
    pairs = list(zip(weights, first, strict=True))
    changed = sum(int((now != then).sum()) for now, then in pairs)
    return changed / sum(int(then.size) for _, then in pairs)
