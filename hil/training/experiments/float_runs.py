"""A run of ElasticZO on `float32` with its schedule, or of the pre-training with Adam that others start from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

from hil.training.experiments.adam import AdamPreTraining
from hil.training.experiments.run import BaseRun, Given, Schedule, Tensors, at_step, longest_segment
from hil.training.methods.default_rates import closed
from hil.training.methods.elasticzo_fp32 import ElasticZoFp32
from hil.training.methods.elasticzo_settings import Fp32Settings
from hil.training.networks import build
from hil.training.reference.methods import MethodReference
from hil.training.reference.methods.elasticzo_fp32 import ElasticZoFp32Reference
from hil.training.reference.native.float32 import fastest
from hil.training.trial import TrialSpec

ADAM = "adam"  # column of the pre-training
DECAY, DECAY_EPOCHS = 0.8, 10  # the rate is multiplied every 10 epochs (ElasticZO, section 5.1.1)


@dataclass(frozen=True)
class FloatRun(BaseRun):
    """Everything that decides the bits of a run.

    The learning rate is `eta` at first and falls as in docs/arithmetic-float32.md, section 8. `rate_from` names a
    search of the same experiment (choice.py).
    """

    data: str
    column: str  # `fp32`, `rate` in a search, `adam` for the pre-training
    variant: str  # `full-zo`, `cls2`, `cls1`, `full-bp` or `partition-C`
    seed: int  # of initial weights, order of samples and perturbations
    epochs: int
    batch: int
    network: str  # in `float32`
    paper_epochs: int  # the marks of the schedule scale in proportion
    eta: float | None = None  # None: the best of a search; not used by Adam
    start: str | None = None  # the run whose last weights it starts from; None for initial weights
    rate_from: tuple[str, ...] = ()  # stem of a search
    given: Given = ()  # settings besides eta, batch and seed that differ from the method's defaults
    tag: str = ""  # distinguishes runs of the same cell

    largest_eta: ClassVar[float] = Fp32Settings.table["eta"].most or 0.0

    @property
    def has_state(self) -> bool:  # type: ignore[override]
        """Whether moments go on from step to step: those of Adam."""
        return self.column == ADAM

    def schedule(self, steps: int) -> Schedule:
        """Return eta times 0.8 for every tenth of the paper's 100 epochs; marks on one step count all."""
        if self.eta is None:
            return ()
        at, eta = {}, self.eta
        for epoch in range(DECAY_EPOCHS, self.paper_epochs, DECAY_EPOCHS):
            eta *= DECAY
            at[steps * epoch // self.paper_epochs] = {"eta": eta}
        return tuple(sorted((step, change) for step, change in at.items() if step < steps))

    def settings(self, step: int, schedule: Schedule) -> Fp32Settings:
        """Return the settings of a step."""
        rate = {} if self.eta is None else {"eta": self.eta}
        given = dict(self.given) | rate | {"batch": self.batch, "seed": self.seed}
        layers = len(build(self.network, self.seed).trained)
        return cast("Fp32Settings", at_step(Fp32Settings.of_variant(self.variant, layers, **given), step, schedule))

    def method(self, schedule: Schedule) -> ElasticZoFp32:
        """Return the method on the network with its initial weights."""
        return ElasticZoFp32(build(self.network, self.seed), self.settings(0, schedule))

    def learner(self, weights: Tensors | None, schedule: Schedule) -> MethodReference:
        """Return the method on the network."""
        method = self.method(schedule)
        network = method.network if weights is None else method.plan.with_arrays(weights)
        if self.column == ADAM:
            return AdamPreTraining(network, self.batch, self.seed, fastest(network))
        return ElasticZoFp32Reference(network, method.settings, fastest(network))

    def trial(self, board: str) -> TrialSpec:
        """Return the trial of the same settings."""
        settings = closed(self.method(())) | dict(self.given) | {"eta": float(self.eta or 0)}
        return self._trial(board, self.variant, self.network, ElasticZoFp32.name, settings)

    def longest_segment(self) -> int:
        """Return the number of steps that a stand-in trains in about half a minute."""
        return longest_segment(self.method(()).figures.step_macs())
