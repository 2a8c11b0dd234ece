"""A run of ElasticZO-INT8 on LeNet-5, with its schedule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from hil.training.experiments.run import BaseRun, Given, Schedule, Tensors, at_step
from hil.training.methods.elasticzo_int8 import ElasticZoInt8
from hil.training.methods.elasticzo_settings import ElasticZoSettings
from hil.training.networks import build
from hil.training.reference.methods import MethodReference, StepOutcome
from hil.training.reference.methods.elasticzo_int8 import ElasticZoInt8Reference
from hil.training.reference.native.bfp8 import fastest
from hil.training.trial import TrialSpec

NETWORK, METHOD, TENSORS = "lenet5", "elasticzo-int8", 5
LOSS = {"int8": "float", "int8star": "integer"}  # the paper's columns: INT8 compares float losses, INT8* integers
# ElasticZO, section 5.1.1: b_ZO is 1 throughout; b_BP is 5, 4, 3 and the sparsity 0.33, 0.5, 0.9 from epochs 0, 20
# and 50.
START: Mapping[str, int] = {"b_zo": 1, "b_bp": 5, "p_zero": 84}
MARKS: tuple[tuple[int, Mapping[str, int]], ...] = (
    (20, {"b_bp": 4, "p_zero": 128}),
    (50, {"b_bp": 3, "p_zero": 230}),
)
SEGMENT = 20  # most steps in a segment for a board,
SEGMENT_SAMPLES = 1280  # and most samples: half a minute on a stand-in


@dataclass(frozen=True)
class ExponentRun(BaseRun):
    """Everything that decides the bits of a run.

    The schedule does not change the settings in `given`.
    """

    data: str
    column: str  # `int8` or `int8star`
    variant: str  # `full-zo`, `cls2`, `cls1`, `full-bp` or `partition-C`
    seed: int  # of initial weights, order of samples and perturbations
    epochs: int
    paper_epochs: int = 100  # the marks of the schedule scale in proportion
    batch: int = 256
    r_max: int = 7
    start: str | None = None  # the run whose last weights it starts from; None for initial weights
    given: Given = ()  # settings that differ from those of the column
    tag: str = ""  # distinguishes runs of one cell that differ in `given` or `r_max`

    def chosen(self) -> str:
        """Return the scale of the perturbation; empty where nothing is perturbed."""
        return f"r_max {self.r_max}" if self.settings(0, ()).partition else ""

    def changed_settings(self) -> dict[str, int | float | str]:
        """Return the settings before the first mark that the run chooses, as far as they act."""
        return self._acting(self._chosen())

    def _chosen(self) -> dict[str, int | float | str]:
        return {**START, "r_max": self.r_max, "loss": LOSS[self.column], **dict(self.given)}

    def _acting(self, chosen: Mapping[str, Any]) -> dict[str, Any]:
        """Return those settings that act: not those of zeroth order where nothing is trained by it, as in Full BP."""
        method = ElasticZoInt8(build(NETWORK, self.seed), self.settings(0, ()))
        return {name: its for name, its in chosen.items() if method.settings.unmet(name, method.facts) is None}

    def settings(self, step: int, schedule: Schedule) -> ElasticZoSettings:
        """Return the settings of a step."""
        chosen = self._chosen()
        settings = ElasticZoSettings.of_variant(self.variant, TENSORS, batch=self.batch, seed=self.seed, **chosen)
        return cast("ElasticZoSettings", at_step(settings, step, schedule))

    def schedule(self, steps: int) -> Schedule:
        """Return the changes of a run of `steps` steps.

        Marks after its end are left out; of two marks on one step the later one counts.
        """
        at: dict[int, Mapping[str, int]] = {}
        fixed = dict(self.given)
        for epoch, changes in MARKS:
            step = steps * epoch // self.paper_epochs
            if step < steps:
                at[step] = self._acting({name: value for name, value in changes.items() if name not in fixed})
        return tuple(sorted(at.items()))

    def learner(self, weights: Tensors | None, schedule: Schedule) -> MethodReference:
        """Return the method on LeNet-5."""
        network = build(NETWORK, self.seed)
        if weights is not None:
            network = network.with_weights(weights)
        return ElasticZoInt8Reference(network, self.settings(0, schedule), fastest(network))

    def right_sign(self, outcome: StepOutcome) -> bool | None:
        """Return None where zeroth order trains nothing, which uses no sign."""
        return outcome.right_sign if self.settings(0, ()).partition else None

    def trial(self, board: str) -> TrialSpec:
        """Return the trial of the same row."""
        return self._trial(board, self.variant, NETWORK, METHOD, self.changed_settings())

    def longest_segment(self) -> int:
        """Return the number of steps that a stand-in trains in about half a minute."""
        return min(max(SEGMENT_SAMPLES // self.batch, 1), SEGMENT)
