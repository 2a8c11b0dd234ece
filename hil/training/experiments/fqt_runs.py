"""A run of FQT: a network in one of three configurations that is trained in part or as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hil.training.experiments.run import Given, SteadyRun
from hil.training.methods.fqt import Fqt
from hil.training.methods.fqt_settings import FqtSettings
from hil.training.networks import build
from hil.training.reference.methods import MethodReference, StepOutcome
from hil.training.trial import TrialSpec


@dataclass(frozen=True)
class FqtRun(SteadyRun):
    """Everything that decides the bits of a run; the learning rate stays as it is.

    Attributes:
        data: the data set.
        column, variant: of the table.
        seed: of drawn weights and of the order of samples.
        epochs: rows of the curve after the first; 0: the network is only evaluated.
        batch: samples in a step.
        network: in the configuration.
        configuration: `uint8`, `mixed` or `float32`.
        given: settings besides eta, batch and seed that differ from the method's defaults.
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
    network: str
    configuration: str
    given: Given = ()
    eta: float | None = None
    rate_from: str = ""
    tag: str = ""
    largest_eta: ClassVar[float] = FqtSettings.table["eta"].most or 0.0

    @property
    def on_board(self) -> bool:  # type: ignore[override]
        """Whether there are steps that a board can repeat."""
        return self.epochs > 0

    def on_network(self) -> Fqt:
        """Return the method on the network in its configuration."""
        network = build(self.network, self.seed)
        return Fqt.on(network, self.configuration, **self._chosen_settings(), batch=self.batch, seed=self.seed)

    def losses(self, outcome: StepOutcome, samples: int) -> float:
        """Return the mean over the samples."""
        return outcome.float_loss_plus / samples

    def backward_macs(self, learner: MethodReference) -> float:
        """Return the multiply-accumulates of the backward pass of the last step, a sample."""
        method = self.on_network()
        work = learner.last_work() or method.figures.work()
        assert work is not None
        return work.macs / self.batch - method.network.macs

    def trial(self, board: str) -> TrialSpec:
        """Return the trial of the same settings."""
        settings = dict(self.given) | {"eta": self.settings(0, ()).eta}
        return self._trial(board, self.configuration, self.network, Fqt.name, settings)
