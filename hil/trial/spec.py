"""What a trial is: board x network x method x data set, with everything that decides its bits."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class TrialSpec:
    """One trial.

    Attributes:
        board: name in the catalogue.
        variant: `full-zo`, `cls2`, `cls1` or `full-bp`.
        network: name of the network.
        method: name of the method.
        data: name of the data set.
        batch: samples a step.
        seed: decides initial weights, order of samples and perturbations.
        steps: training steps, every one compared.
        evaluate: test images for the accuracy before and after; 0 for none.
        probe_every: steps between two readings of the weights through the probe.
        settings: settings of the method that differ from its defaults.
    """

    board: str
    variant: str
    network: str = "lenet5"
    method: str = "elasticzo-int8"
    data: str = "fashion-mnist-1k"
    batch: int = 8
    seed: int = 1
    steps: int = 200
    evaluate: int = 500
    probe_every: int = 50
    settings: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the trial's folder."""
        return f"{self.board}-{self.network}-{self.method}-{self.variant}-seed{self.seed}"
