"""A run on a pre-trained network of int8 values that a method of forward passes alone adapts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hil.training.experiments.run import Given, SteadyRun
from hil.training.methods import Method, find_method
from hil.training.networks import build
from hil.training.reference.methods import StepOutcome
from hil.training.trial import TrialSpec


@dataclass(frozen=True)
class QuzoRun(SteadyRun):
    """Everything that decides the bits of a run.

    Attributes:
        data: the data set.
        column, variant: of the table.
        seed: of the order of samples and the directions.
        epochs: rows of the curve after the first.
        batch: samples in a step.
        adapted: the pre-trained network.
        by: the method: `quzo`, `qzo-ff` or `perturbed-scales`.
        given: settings besides eta, batch and seed that differ from the defaults.
        eta: the learning rate; None: the best of a search.
        rate_from: stem of that search.
        tag: distinguishes runs of the same cell.
    """

    data: str
    column: str
    variant: str
    seed: int
    epochs: int
    batch: int
    adapted: str
    by: str
    given: Given = ()
    eta: float | None = None
    rate_from: str = ""
    tag: str = ""
    largest_eta: ClassVar[float] = 1.0

    def losses(self, outcome: StepOutcome, samples: int) -> float:
        """Return the mean over all passes."""
        directions = int(dict(self.given).get("directions", 1))
        return (outcome.float_loss_plus + outcome.float_loss_minus) / (2 * directions * samples)

    def trial(self, board: str) -> TrialSpec:
        """Return the trial of the same settings."""
        return self._trial(board, "full", self.adapted, self.by, self._chosen_settings())

    def on_network(self) -> Method:
        """Return the method on the pre-trained network."""
        graph = build(self.adapted, self.seed)
        return find_method(self.by).on(graph, "full", batch=self.batch, seed=self.seed, **self._chosen_settings())
