"""A run on a pre-trained graph that Poor Man's Training or one of its baselines adapts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from hil.experiments.run import Choice, Given, Learner, Schedule, Tensors
from hil.methods import GraphMethod, graph_method
from hil.methods.graph_settings import GraphSettings
from hil.networks import build
from hil.reference.methods import StepOutcome, reference_of
from hil.trial import TrialSpec

SEGMENT = 20  # most steps in a segment for a board,
SEGMENT_MACS = 500_000_000  # and most multiply-accumulates: half a minute on a stand-in
ALL_COORDINATES = 256  # of DeepZero's sparsity: of so many coordinates, `sparsity` are left out


@dataclass(frozen=True)
class GraphRun:
    """Everything that decides the bits of a run.

    Attributes:
        data: name of the data set.
        column, variant: cell of the table.
        seed: of the order of samples and of the perturbations.
        epochs: rows of the curve after the first.
        batch: samples per step (N).
        network: a pre-trained network.
        method: name of the method.
        given: settings besides learning rate, batch and seed that differ from those of the method's first variant.
        eta: learning rate of the first epoch; it decreases along half a cosine, epoch by epoch. None: the best of a
            search.
        steps: steps between two rows of the curve; None: the number of full batches in the images.
        budget: total number of perturbed forward passes; decides `steps`. None: no budget.
        fewest_steps: the batch is reduced until the budget allows this many steps; 0 keeps the batch.
        rate_from: stems of searches in the same experiment (rate_search.py): one, or one for each of `blocks_from`.
        blocks_from: names of runs in the same experiment; the layers of the best one on its test images are trained.
        tag: distinguishes runs of the same cell.
        compares: whether the gradient of each epoch's last step is compared with the slope of the network.
    """

    data: str
    column: str
    variant: str
    seed: int
    epochs: int
    batch: int
    network: str
    method: str
    given: Given = ()
    eta: float | None = None
    steps: int | None = None
    budget: int | None = None
    fewest_steps: int = 0
    rate_from: tuple[str, ...] = ()
    blocks_from: tuple[str, ...] = ()
    tag: str = ""
    compares: bool = False

    start = None

    @property
    def name(self) -> str:
        """Name of the run's folder."""
        tag = f"-{self.tag}" if self.tag else ""
        return f"{self.data}-{self.column}-{self.variant}{tag}-seed{self.seed}"

    def resolved(self, choice: Choice) -> GraphRun:
        """Return the run with learning rate, trained layers, batch and steps chosen."""
        run, place = self, 0
        if run.blocks_from:
            place, block = choice.best_run(run.blocks_from)
            its = {name: value for name, value in block.given if name in ("train", "blocks")}
            run = replace(run, given=tuple((dict(run.given) | its).items()))
        if run.rate_from:
            run = replace(run, eta=choice.best_rate(run.rate_from[place if len(run.rate_from) > 1 else 0]))
        run = replace(run, rate_from=(), blocks_from=())
        if run.budget is None:
            return run
        if run.fewest_steps:
            batch = run.budget // run.forwards() // run.fewest_steps
            run = replace(run, batch=min(max(batch, 1), run.batch), fewest_steps=0)
        steps = run.budget / (run.batch * run.forwards())
        return replace(run, steps=max(round(steps / run.epochs), 1), budget=None)

    def chosen(self) -> str:
        """Return the learning rate and the blocks."""
        blocks = self.settings(0, ()).blocks
        trained = "" if blocks == 15 else ", blocks " + " ".join(str(b + 1) for b in range(4) if blocks >> b & 1)
        return f"eta {self.eta:g}{trained}"

    def forwards(self) -> int:
        """Return the number of perturbed forward passes per sample; an average if coordinates are drawn."""
        method = self._method(())
        drawn = (ALL_COORDINATES - method.settings.sparsity) / ALL_COORDINATES if method.coordinate_wise else 1
        passes = [method.layer_passes(index) for index in method.trained]
        return round((sum(passes) if method.settings.wise == "layer" else passes[0]) * drawn)

    def per_epoch(self, images: int) -> int:
        """Return the given number of steps, or the number of full batches in the images."""
        return images // self.batch if self.steps is None else self.steps

    def schedule(self, steps: int) -> Schedule:
        """Return eta times (1 + cos(pi * epoch / epochs)) / 2 for every epoch but the first."""
        assert self.eta is not None
        falling = [0.5 * (1 + math.cos(math.pi * epoch / self.epochs)) for epoch in range(self.epochs)]
        return tuple(
            (epoch * (steps // self.epochs), {"eta": self.eta * falling[epoch]}) for epoch in range(1, self.epochs)
        )

    def settings(self, step: int, schedule: Schedule) -> GraphSettings:
        """Return the settings of a step."""
        settings = graph_method(self.method).settings_of(self._variant, **self._all_settings())
        for first, changes in schedule:
            if first <= step:
                settings = settings.changed(**changes)
        return settings

    def learner(self, weights: Tensors | None, schedule: Schedule) -> Learner:
        """Return the method on the pre-trained network."""
        method = self._method(schedule)
        return reference_of(method if weights is None else method.given(weights))

    def losses(self, outcome: StepOutcome, samples: int) -> float:
        """Return the mean over the clean passes."""
        return outcome.float_loss_plus / samples

    def right_sign(self, outcome: StepOutcome) -> bool | None:
        """Return None: the method uses no sign."""
        return None

    def trial(self, board: str) -> TrialSpec:
        """Return the trial of the same settings."""
        return TrialSpec(
            board, self._variant, network=self.network, method=self.method, data=self.data, batch=self.batch,
            seed=self.seed, evaluate=0,
            settings=dict(self.given) | {"eta": float(self.eta or 0)},
        )  # fmt: skip

    def longest_segment(self) -> int:
        """Return the number of steps that a stand-in trains in about half a minute."""
        macs = self._method(()).step_macs()
        return min(max(SEGMENT_MACS // macs, 1), SEGMENT)

    @property
    def _variant(self) -> str:
        return graph_method(self.method).default_variant

    def _all_settings(self) -> dict[str, Any]:
        rate = {} if self.eta is None else {"eta": self.eta}
        return dict(self.given) | rate | {"batch": self.batch, "seed": self.seed}

    def _method(self, schedule: Schedule) -> GraphMethod:
        return graph_method(self.method)(build(self.network, self.seed), self.settings(0, schedule))
