"""What a training run of an experiment is, for any method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from hil.reference.methods import StepOutcome
from hil.trial import TrialSpec

Schedule = tuple[
    tuple[int, Mapping[str, float]], ...
]  # changes of settings, each with the first step that it holds for
Tensors = Sequence[np.ndarray]
Given = tuple[tuple[str, int | float | str], ...]  # settings by name, in a form that can be compared and written


class Learner(Protocol):
    """What a run needs of a method of the reference."""

    @property
    def weights(self) -> list[np.ndarray]:
        """The trained tensors, input to output."""
        ...

    @property
    def arithmetic(self) -> str:
        """What computes its steps."""
        ...

    def configure(self, settings: Any, first_step: int) -> None:
        """Go on with other settings and another index of the next step."""
        ...

    def step(self, images: np.ndarray, labels: np.ndarray) -> StepOutcome:
        """Train one step."""
        ...

    def accuracy(self, images: np.ndarray, labels: np.ndarray) -> float:
        """Return the share of images that the weights classify rightly."""
        ...


class Choice(Protocol):
    """What a run that leaves something open asks of the runs beside it."""

    def best_run(self, names: Sequence[str]) -> tuple[int, Any]:
        """Return the place and the settled run of the best of some runs."""
        ...

    def best_rate(self, stem: str) -> float:
        """Return the best learning rate of a search."""
        ...


class Run(Protocol):
    """What decides every bit of a run; its fields are written to run.json."""

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
        """Of the order of samples and of perturbations."""
        ...

    @property
    def epochs(self) -> int:
        """Rows of the curve behind the first."""
        ...

    @property
    def batch(self) -> int:
        """Samples a step."""
        ...

    @property
    def start(self) -> str | None:
        """Name of the run before, or None."""
        ...

    @property
    def tag(self) -> str:
        """Tells runs apart that stand in one row of a column."""
        ...

    @property
    def name(self) -> str:
        """Name of the folder."""
        ...

    @property
    def compares(self) -> bool:
        """Whether gradients are compared with the slope."""
        ...

    def settled(self, choice: Choice) -> Any:
        """Return the run with nothing left open."""
        ...

    def chosen(self) -> str:
        """Return in words what was chosen for a settled run; empty where nothing was."""
        ...

    def per_epoch(self, images: int) -> int:
        """Return the steps between two rows of the curve, of a training set of so many images."""
        ...

    def schedule(self, steps: int) -> Schedule:
        """Return the changes of settings of a run of so many steps."""
        ...

    def settings(self, step: int, schedule: Schedule) -> Any:
        """Return the settings that hold for a step."""
        ...

    def learner(self, weights: Tensors | None, schedule: Schedule) -> Learner:
        """Return the method on the run's network, with these trained tensors or, of None, those of the network."""
        ...

    def losses(self, outcome: StepOutcome, samples: int) -> float:
        """Return the mean loss of the samples of a step, in nats."""
        ...

    def right_sign(self, outcome: StepOutcome) -> bool | None:
        """Return whether the step went the way that the float losses point; None where no sign is taken."""
        ...

    def trial(self, board: str) -> TrialSpec:
        """Return the trial that trains as this run does; steps, schedule and checkpoint are the caller's."""
        ...

    def longest_segment(self) -> int:
        """Return the most steps that a board is asked to repeat at a time."""
        ...
