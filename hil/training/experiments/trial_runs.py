"""A run with the steps of a trial: any method on any network that it trains, with one learning rate throughout."""

from __future__ import annotations

from dataclasses import dataclass

from hil.training.experiments.run import Given, Schedule, SteadyRun, Tensors
from hil.training.methods import Method
from hil.training.methods.elasticzo_fp32 import ElasticZoFp32
from hil.training.methods.elasticzo_settings import Fp32Settings
from hil.training.methods.graph_settings import GraphSettings
from hil.training.reference.methods import MethodReference, StepOutcome, reference_of
from hil.training.reference.methods.elasticzo_fp32 import ElasticZoFp32Reference
from hil.training.reference.native.float32 import fastest as fastest_float32
from hil.training.reference.native.tflite8 import KINDS, fastest
from hil.training.trial import TrialSpec
from hil.training.trial.choose import method_on_network

ANY_BOARD = "any"  # the method is looked up and not planned


@dataclass(frozen=True)
class TrialRun(SteadyRun):
    """Everything that decides the bits of a run.

    Attributes:
        data: the data set.
        column, variant: of the table; `variant` is that of the method.
        seed: of initial weights, order of samples and random draws.
        epochs: rows of the curve after the first.
        batch: samples in a step.
        network, method: as a trial names them.
        row_steps: steps between two rows of the curve.
        given: settings besides eta, batch and seed that differ from those of the variant.
        eta: the learning rate; None: that of the variant.
        tag: distinguishes runs of the same cell.
    """

    data: str
    column: str
    variant: str
    seed: int
    epochs: int
    batch: int
    network: str
    method: str
    row_steps: int
    given: Given = ()
    eta: float | None = None
    tag: str = ""

    @property
    def largest_eta(self) -> float:
        """The largest rate that the method takes."""
        return float(self.on_network().kind.table["eta"].most or 0.0)

    def per_epoch(self, images: int) -> int:
        """Return the given number of steps."""
        return self.row_steps

    def on_network(self) -> Method:
        """Return the method on the network with its initial weights.

        Raises:
            RigError: an unknown name, a setting out of range.
            Blocked: the variant trains nothing of the network.
        """
        return method_on_network(self.trial(ANY_BOARD))

    def learner(self, weights: Tensors | None, schedule: Schedule) -> MethodReference:
        """Return the method on the network; what there is of it in C runs in C."""
        method = self.on_network()
        given = method if weights is None else method.given(weights)
        if given.loop in KINDS and isinstance(given.settings, GraphSettings):
            return fastest(given.network, given.settings)
        if given.loop == ElasticZoFp32.loop and isinstance(given.settings, Fp32Settings):
            return ElasticZoFp32Reference(given.network, given.settings, fastest_float32(given.network))
        return reference_of(given)

    def losses(self, outcome: StepOutcome, samples: int) -> float:
        """Return the mean of the first pass of the step."""
        return outcome.float_loss_plus / samples

    def trial(self, board: str) -> TrialSpec:
        """Return the trial of the same settings."""
        return self._trial(board, self.variant, self.network, self.method, self._chosen_settings())
