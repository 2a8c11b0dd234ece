"""A run of FQT: a network in one of three configurations that is trained in part or as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hil.training.experiments.run import BaseRun, Given, Schedule, Tensors, longest_segment
from hil.training.methods.fqt import Fqt
from hil.training.methods.fqt_settings import FqtSettings
from hil.training.networks import build
from hil.training.reference.methods import MethodReference, StepOutcome, reference_of
from hil.training.trial import TrialSpec


@dataclass(frozen=True)
class FqtRun(BaseRun):
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
    def has_state(self) -> bool:  # type: ignore[override]
        """Whether statistics, ranges of errors or the largest loss go on from step to step."""
        method = self._method()
        return method.request.kept_state(method.settings) is not None

    @property
    def on_board(self) -> bool:  # type: ignore[override]
        """Whether there are steps that a board can repeat."""
        return self.epochs > 0

    def settings(self, step: int, schedule: Schedule) -> FqtSettings:
        """Return the settings of every step."""
        return self._method().settings

    def _method(self) -> Fqt:
        given = dict(self.given) | ({} if self.eta is None else {"eta": self.eta})
        network = build(self.network, self.seed)
        return Fqt.on(network, self.configuration, **given, batch=self.batch, seed=self.seed)

    def learner(self, weights: Tensors | None, schedule: Schedule) -> MethodReference:
        """Return the method on the network."""
        method = self._method()
        return reference_of(method if weights is None else method.given(weights))

    def losses(self, outcome: StepOutcome, samples: int) -> float:
        """Return the mean over the samples."""
        return outcome.float_loss_plus / samples

    def backward_macs(self, learner: MethodReference) -> float:
        """Return the multiply-accumulates of the backward pass of the last step, a sample."""
        method = self._method()
        work = learner.last_work() or method.figures.work()
        assert work is not None
        return work.macs / self.batch - method.network.macs

    def trial(self, board: str) -> TrialSpec:
        """Return the trial of the same settings."""
        settings = dict(self.given) | {"eta": self.settings(0, ()).eta}
        return self._trial(board, self.configuration, self.network, Fqt.name, settings)

    def longest_segment(self) -> int:
        """Return the number of steps that a stand-in trains in about half a minute."""
        return longest_segment(self._method().figures.step_macs())
