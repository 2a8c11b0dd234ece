"""A run on a pre-trained graph that Poor Man's Training or one of its baselines adapts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, cast

from hil.errors import RigError
from hil.training.experiments.run import BaseRun, Given, Schedule, Tensors, TrainedRuns, at_step, longest_segment
from hil.training.methods import GraphMethod, graph_method
from hil.training.methods.graph_settings import LARGEST_ETA, GraphSettings
from hil.training.networks import build
from hil.training.reference.methods import MethodReference, StepOutcome, reference_of
from hil.training.reference.native.tflite8 import KINDS, fastest
from hil.training.trial import TrialSpec

ALL_COORDINATES = 256  # of DeepZero's sparsity: of so many coordinates, `sparsity` are left out
CHOSEN_LAYERS = ("train", "blocks")  # the settings that say which layers are trained


@dataclass(frozen=True)
class GraphRun(BaseRun):
    """Everything that decides the bits of a run.

    The learning rate is `eta` in the first epoch, and decreases along half a cosine, epoch by epoch. `rate_from` and
    `blocks_from` name searches and runs of the same experiment (choice.py).
    """

    data: str
    column: str
    variant: str
    seed: int  # of the order of samples and of the perturbations
    epochs: int  # rows of the curve after the first
    batch: int  # samples per step (N)
    network: str  # a pre-trained network
    method: str
    given: Given = ()  # settings besides eta, batch and seed that differ from those of the method's first variant
    eta: float | None = None  # None: the best of a search
    steps: int | None = None  # between two rows of the curve; None: the number of full batches in the images
    budget: int | None = None  # total number of perturbed forward passes, which decides `steps`; None: no budget
    fewest_steps: int = 0  # the batch is reduced until the budget allows this many steps; 0 keeps the batch
    rate_from: tuple[str, ...] = ()  # stems of searches: one, or one for each of `blocks_from`
    blocks_from: tuple[str, ...] = ()  # the layers of the best of these runs on its test images are trained
    tag: str = ""  # distinguishes runs of the same cell
    largest_eta: ClassVar[float] = LARGEST_ETA
    compares: bool = False  # whether the gradient of each epoch's last step is compared with the slope of the network

    def resolved(self, trained: TrainedRuns) -> GraphRun:
        """Return the run with learning rate, trained layers, batch and steps chosen."""
        run, place = self, 0
        if run.blocks_from:
            place = trained.best_run(run.blocks_from)
            its = {name: value for name, value in trained.settings_of(run.blocks_from[place]) if name in CHOSEN_LAYERS}
            run = replace(run, given=tuple((dict(run.given) | its).items()))
        if run.rate_from:
            run = replace(run, eta=trained.best_rate(run.rate_from[place if len(run.rate_from) > 1 else 0]))
        run, budget = replace(run, rate_from=(), blocks_from=()), run.budget
        if budget is None:
            return run
        if run.fewest_steps:
            batch = budget // run.forwards() // run.fewest_steps
            run = replace(run, batch=min(max(batch, 1), run.batch), fewest_steps=0)
        steps = budget / (run.batch * run.forwards())
        return replace(run, steps=max(round(steps / run.epochs), 1), budget=None)

    def chosen(self) -> str:
        """Return the learning rate and the blocks."""
        blocks = self.settings(0, ()).blocks
        trained = "" if blocks == 15 else ", blocks " + " ".join(str(b + 1) for b in range(4) if blocks >> b & 1)
        return f"eta {self.eta:g}{trained}"

    def forwards(self) -> int:
        """Return the number of perturbed forward passes per sample; an average if coordinates are drawn."""
        method = self._method(())
        drawn = (ALL_COORDINATES - method.settings.sparsity) / ALL_COORDINATES if method.plan.coordinate_wise else 1
        passes = [method.figures.layer_passes(index) for index in method.plan.trained]
        return round((sum(passes) if method.settings.wise == "layer" else passes[0]) * drawn)

    def per_epoch(self, images: int) -> int:
        """Return the given number of steps, or the number of full batches in the images."""
        return images // self.batch if self.steps is None else self.steps

    def schedule(self, steps: int) -> Schedule:
        """Return eta times (1 + cos(pi * epoch / epochs)) / 2 for every epoch but the first."""
        assert self.eta is not None
        falling = [0.5 * (1 + math.cos(math.pi * epoch / self.epochs)) for epoch in range(self.epochs)]
        each = steps // self.epochs
        return tuple((epoch * each, {"eta": self.eta * falling[epoch]}) for epoch in range(1, self.epochs))

    def check_steps(self, steps: int) -> None:
        """Raise RigError if so many steps train nothing: all of them rank layers."""
        method = self._method(())
        if fault := method.request.fault_of_steps(method.settings, steps):
            raise RigError(fault)

    @property
    def has_state(self) -> bool:  # type: ignore[override]
        """Whether velocities, or a choice of layers, go on from step to step."""
        method = self._method(())
        return method.request.kept_state(method.settings) is not None

    def settings(self, step: int, schedule: Schedule) -> GraphSettings:
        """Return the settings of a step."""
        rate = {} if self.eta is None else {"eta": self.eta}
        given = dict(self.given) | rate | {"batch": self.batch, "seed": self.seed}
        settings = graph_method(self.method).settings_of(self._variant, **given)
        return cast("GraphSettings", at_step(settings, step, schedule))

    def learner(self, weights: Tensors | None, schedule: Schedule) -> MethodReference:
        """Return the method on the pre-trained network; what there is of it in C runs in C."""
        method = self._method(schedule)
        given = method if weights is None else method.given(weights)
        if given.loop in KINDS:
            return fastest(given.network, given.settings)
        return reference_of(given)

    def losses(self, outcome: StepOutcome, samples: int) -> float:
        """Return the mean over the clean passes."""
        return outcome.float_loss_plus / samples

    def trial(self, board: str) -> TrialSpec:
        """Return the trial of the same settings."""
        settings = dict(self.given) | {"eta": float(self.eta or 0)}
        return self._trial(board, self._variant, self.network, self.method, settings)

    def longest_segment(self) -> int:
        """Return the number of steps that a stand-in trains in about half a minute."""
        return longest_segment(self._method(()).figures.step_macs())

    @property
    def _variant(self) -> str:
        return graph_method(self.method).default_variant

    def _method(self, schedule: Schedule) -> GraphMethod:
        return graph_method(self.method)(build(self.network, self.seed), self.settings(0, schedule))
