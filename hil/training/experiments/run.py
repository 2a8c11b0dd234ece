"""What all runs of an experiment have in common (`kinds.py` lists the kinds)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import numpy as np

from hil.training.data.names import public_name
from hil.training.methods import Method
from hil.training.reference.methods import MethodReference, StepOutcome, reference_of
from hil.training.trial import TrialSpec

Schedule = tuple[tuple[int, Mapping[str, float]], ...]  # changes of settings, each with its first step
Tensors = Sequence[np.ndarray]
Given = tuple[tuple[str, int | float | str], ...]  # settings by name, comparable and serialisable
AnyRun = TypeVar("AnyRun", bound="BaseRun")
SEGMENT = 20  # most steps in a segment for a board,
SEGMENT_MACS = 500_000_000  # and most multiply-accumulates: half a minute on a stand-in


class TrainedRuns(Protocol):
    """The trained runs of an experiment, from which another run chooses what it leaves open (choice.py)."""

    def best_rate(self, stem: str) -> float:
        """Return the learning rate that a search chooses."""

    def best_run(self, names: Sequence[str]) -> int:
        """Return the place of the run with the most right images at its end; equals are decided by their loss."""

    def settings_of(self, name: str) -> Given:
        """Return the `given` settings of a run, with what it chose."""


class BaseRun(ABC):
    """Base of the dataclasses with everything that decides the bits of a run; their fields are written to run.json."""

    data: str
    column: str
    variant: str
    seed: int
    epochs: int
    batch: int
    given: Given
    tag: str
    start: str | None = None
    eta: float | None = None  # the learning rate; None: the method has none, or the best of a search
    tasks = 0  # few-shot tasks that are trained, each by itself; 0: the data set is trained
    compares = False
    has_state = False  # whether more than the weights decides later steps: momentum, moments, masks
    on_board = True  # whether a board can repeat it

    @property
    def name(self) -> str:
        """Name of the run's folder."""
        tag = f"-{self.tag}" if self.tag else ""
        return f"{public_name(self.data)}-{self.column}-{self.variant}{tag}-seed{self.seed}"

    rate_from: str | tuple[str, ...] = ()  # stems of searches of the same experiment (choice.py)

    def resolved(self: AnyRun, trained: TrainedRuns) -> AnyRun:
        """Return the run with everything chosen that it leaves open."""
        stems = self.searches()
        if not stems:
            return self
        return replace(self, eta=trained.best_rate(stems[0]), rate_from=type(self.rate_from)())  # type: ignore[type-var]

    def chosen(self) -> str:
        """Return what was searched; empty if nothing was."""
        return "" if self.eta is None else f"eta {self.eta:g}"

    def searches(self) -> tuple[str, ...]:
        """Return the stems of the searches that its learning rate may come from."""
        return tuple(filter(None, (self.rate_from,))) if isinstance(self.rate_from, str) else self.rate_from

    def per_epoch(self, images: int) -> int:
        """Return the number of full batches in the images."""
        return images // self.batch

    def schedule(self, steps: int) -> Schedule:
        """Return the changes of a run of so many steps: none, where the method has a schedule of its own or none."""
        return ()

    def check_steps(self, steps: int) -> None:  # noqa: B027 (most train in every step)
        """Raise RigError if so many steps train nothing."""

    @abstractmethod
    def settings(self, step: int, schedule: Schedule) -> Any:
        """Return the settings of a step."""

    @abstractmethod
    def learner(self, weights: Tensors | None, schedule: Schedule) -> MethodReference:
        """Return the method on the network, with other trained tensors if some are given."""

    def losses(self, outcome: StepOutcome, samples: int) -> float:
        """Return the mean loss of a step over both passes."""
        return (outcome.float_loss_plus + outcome.float_loss_minus) / (2 * samples)

    @abstractmethod
    def trial(self, board: str) -> TrialSpec:
        """Return the trial of the same settings."""

    def _trial(self, board: str, variant: str, network: str, method: str, settings: Mapping[str, Any]) -> TrialSpec:
        return TrialSpec(
            board, variant, network=network, method=method, data=self.data, batch=self.batch, seed=self.seed,
            evaluate=0, settings=dict(settings),
        )  # fmt: skip

    @abstractmethod
    def longest_segment(self) -> int:
        """Return the number of steps that a stand-in trains in about half a minute."""

    def backward_macs(self, learner: MethodReference) -> float | None:
        """Return the multiply-accumulates of the backward pass of the last step, a sample; None: not counted."""
        return None

    def right_sign(self, outcome: StepOutcome) -> bool | None:
        """Return whether the step had the sign of the float losses; None if the method uses no sign."""
        return None


class SteadyRun(BaseRun):
    """A run of a method with the same settings in every step."""

    @abstractmethod
    def on_network(self) -> Method:
        """Return the method with the settings of the run, on the network with its first weights."""

    @property
    def has_state(self) -> bool:  # type: ignore[override]
        """Whether more than the weights goes on from step to step."""
        method = self.on_network()
        return method.request.kept_state(method.settings) is not None

    def settings(self, step: int, schedule: Schedule) -> Any:
        """Return the settings of every step."""
        return self.on_network().settings

    def learner(self, weights: Tensors | None, schedule: Schedule) -> MethodReference:
        """Return the method on the network, with other trained tensors if some are given."""
        method = self.on_network()
        return reference_of(method if weights is None else method.given(weights))

    def longest_segment(self) -> int:
        """Return the number of steps that a stand-in trains in about half a minute."""
        return longest_segment(self.on_network().figures.step_macs())

    def _chosen_settings(self) -> dict[str, Any]:
        """Return the settings besides batch and seed, with the rate if one is known."""
        return dict(self.given) | ({} if self.eta is None else {"eta": self.eta})


def at_step(settings: Any, step: int, schedule: Schedule) -> Any:
    """Return the settings with the changes of a schedule up to a step."""
    for first, changes in schedule:
        if first <= step:
            settings = settings.changed(**changes)
    return settings


def longest_segment(step_macs: int) -> int:
    """Return the number of steps of so many multiply-accumulates that a stand-in trains in about half a minute."""
    return min(max(SEGMENT_MACS // step_macs, 1), SEGMENT)


def share_moved(weights: Tensors, first: Tensors) -> float:
    """Return the share of the trained numbers that differ from their initial values."""
    pairs = list(zip(weights, first, strict=True))
    changed = sum(int((now != then).sum()) for now, then in pairs)
    return changed / sum(int(then.size) for _, then in pairs)
