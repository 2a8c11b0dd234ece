"""Interface of a training run of an experiment, for any method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from hil.reference.methods import StepOutcome
from hil.trial import TrialSpec

Schedule = tuple[tuple[int, Mapping[str, float]], ...]  # changes of settings, each with its first step
Tensors = Sequence[np.ndarray]
Given = tuple[tuple[str, int | float | str], ...]  # settings by name, comparable and serialisable


class Learner(Protocol):
    """The part of a reference method that a run uses."""

    @property
    def weights(self) -> list[np.ndarray]:
        """The trained tensors, input to output."""
        ...

    @property
    def arithmetic(self) -> str:
        """Name of the arithmetic of its steps."""
        ...

    def configure(self, settings: Any, first_step: int) -> None:
        """Continue with other settings and another index of the next step."""
        ...

    def step(self, images: np.ndarray, labels: np.ndarray) -> StepOutcome:
        """Train one step."""
        ...

    def accuracy(self, images: np.ndarray, labels: np.ndarray) -> float:
        """Return the share of correctly classified images."""
        ...


class Choice(Protocol):
    """Choices of a run that depend on other runs of the experiment."""

    def best_run(self, names: Sequence[str]) -> tuple[int, Any]:
        """Return place and resolved run of the best of some runs."""
        ...

    def best_rate(self, stem: str) -> float:
        """Return the best learning rate of a search."""
        ...


class Run(Protocol):
    """Everything that decides the bits of a run; its fields are written to run.json."""

    @property
    def data(self) -> str:
        """Name of the data set."""
        ...

    @property
    def column(self) -> str:
        """Column of the table."""
        ...

    @property
    def variant(self) -> str:
        """Row of the table."""
        ...

    @property
    def seed(self) -> int:
        """Seed of the order of samples and of the perturbations."""
        ...

    @property
    def epochs(self) -> int:
        """Rows of the curve after the first."""
        ...

    @property
    def batch(self) -> int:
        """Samples per step."""
        ...

    @property
    def start(self) -> str | None:
        """Name of the run to start from, or None."""
        ...

    @property
    def tag(self) -> str:
        """Distinguishes runs of one cell."""
        ...

    @property
    def name(self) -> str:
        """Name of the folder."""
        ...

    @property
    def compares(self) -> bool:
        """Whether gradients are compared with the slope."""
        ...

    def resolved(self, choice: Choice) -> Any:
        """Return the run with all open choices made."""
        ...

    def chosen(self) -> str:
        """Return the choices of a resolved run in words; empty if there were none."""
        ...

    def per_epoch(self, images: int) -> int:
        """Return the number of steps between two rows of the curve, for this many training images."""
        ...

    def schedule(self, steps: int) -> Schedule:
        """Return the changes of settings in a run of this many steps."""
        ...

    def settings(self, step: int, schedule: Schedule) -> Any:
        """Return the settings of a step."""
        ...

    def learner(self, weights: Tensors | None, schedule: Schedule) -> Learner:
        """Return the method on the run's network, with these trained tensors, or with those of the network if None."""
        ...

    def losses(self, outcome: StepOutcome, samples: int) -> float:
        """Return the mean loss of the samples of a step, in nats."""
        ...

    def right_sign(self, outcome: StepOutcome) -> bool | None:
        """Return whether the step had the sign of the float losses; None if the method uses no sign."""
        ...

    def trial(self, board: str) -> TrialSpec:
        """Return the trial that trains like this run; the caller sets steps, schedule and checkpoint."""
        ...

    def longest_segment(self) -> int:
        """Return the largest number of steps in a segment for a board."""
        ...
