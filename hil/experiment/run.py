"""One training run of an experiment, and the schedule of ElasticZO-INT8 that it follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hil.network.settings import Settings

NETWORK, METHOD, TENSORS = "lenet5", "elasticzo-int8", 5
LOSS = {"int8": "float", "int8star": "integer"}  # the paper's columns: INT8 compares float losses, INT8* integers
# ElasticZO, section 5.1.1: b_ZO is 1 throughout; b_BP is 5, 4, 3 and the sparsity 0.33, 0.5, 0.9 from epochs 0, 20 and 50.
START: Mapping[str, int] = {"b_zo": 1, "b_bp": 5, "p_zero": 84}
MARKS: tuple[tuple[int, Mapping[str, int]], ...] = (
    (20, {"b_bp": 4, "p_zero": 128}),
    (50, {"b_bp": 3, "p_zero": 230}),
)

Schedule = tuple[tuple[int, Mapping[str, int]], ...]


@dataclass(frozen=True)
class Run:
    """What decides every bit of a run.

    Attributes:
        data: name of the data set.
        column: `int8` or `int8star`.
        variant: `full-zo`, `cls2`, `cls1` or `full-bp`.
        seed: decides initial weights, order of samples and perturbations.
        epochs: how long it trains.
        paper_epochs: how long the paper trains; the marks of the schedule move in proportion.
        batch: samples a step.
        r_max: largest perturbation.
        start: name of the run with whose last weights it begins; None for initial weights.
    """

    data: str
    column: str
    variant: str
    seed: int
    epochs: int
    paper_epochs: int = 100
    batch: int = 256
    r_max: int = 7
    start: str | None = None

    @property
    def name(self) -> str:
        """Name of the run's folder."""
        return f"{self.data}-{self.column}-{self.variant}-seed{self.seed}"

    def changed_settings(self) -> dict[str, int | str]:
        """Return the settings before the first mark that are not a trial's defaults by their own fields."""
        return {**START, "r_max": self.r_max, "loss": LOSS[self.column]}

    def settings(self, step: int, schedule: Schedule) -> Settings:
        """Return the settings that hold for a step."""
        settings = Settings.of_variant(
            self.variant, TENSORS, batch=self.batch, seed=self.seed, **self.changed_settings()
        )
        for first, changes in schedule:
            if first <= step:
                settings = settings.changed(**changes)
        return settings

    def schedule(self, steps: int) -> Schedule:
        """Return the changes of a run of `steps` steps; a mark beyond its end is left out, of two on one step the later counts."""
        at: dict[int, Mapping[str, int]] = {}
        for epoch, changes in MARKS:
            step = steps * epoch // self.paper_epochs
            if step < steps:
                at[step] = changes
        return tuple(sorted(at.items()))
