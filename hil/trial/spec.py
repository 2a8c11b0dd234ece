"""What a trial is: board x network x method x data set, with everything that decides its bits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

SHORT = {
    "integer": "int8star",
    "batch": "batchscope",
    "exact": "exact",
}  # in names of folders, where a word is not the default


@dataclass(frozen=True)
class EnergyWindows:
    """How energy is measured (docs/energy.md).

    Attributes:
        windows: how many count.
        steps: autonomous steps in each, at least.
        idle_ms: sleep before and behind each, at least.
        uncertainty: expanded uncertainty (95 %) over the energy for which more and longer windows are taken; None: those above are enough.
        rules: `mlperf-tiny`: five windows of ten seconds or more, their median, no idle subtracted; else empty.
        accuracy: energy and time to which are told where the training reaches it; None: only to those that it had when it was evaluated.
    """

    windows: int = 6
    steps: int = 2
    idle_ms: int = 100
    uncertainty: float | None = None
    rules: str = ""
    accuracy: float | None = None


@dataclass(frozen=True)
class LatencySteps:
    """How latency is measured: `steps` consecutive autonomous steps; `layers`: every layer of every step too, which takes a run a step."""

    steps: int = 1000
    layers: bool = False


@dataclass(frozen=True)
class Selection:
    """How the block that is trained is found out (PMT, section 3.3.1): steps of each block's test training, and held-out samples of the training set."""

    steps: int = 10
    held_out: int = 100


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
        evaluate_every: steps between two evaluations in the midst of training; 0 for none.
        probe_every: steps between two readings of the weights through the probe.
        settings: settings of the method that differ from its defaults.
        schedule: changes of settings, each with the index of the first step that it holds for (ElasticZO, section 5.1.1).
        slots: samples that the board holds at a time; None for as many of the batch as fit, the rest is streamed.
        first_step: index of the first step; not 0 where a checkpoint is continued.
        checkpoint: .npz with the weights to start from, arrays w0, w1, ... in the order of the trained tensors: int8, biases int32.
        selection: how the block is found out that variant `selected` trains; for no other variant.
        network_in: `ram`, or `flash` where only what is trained is copied to RAM; `auto`: RAM where it fits (second family).
        energy: windows of autonomous steps under the power meter, behind the compared steps; None for none.
        latency: consecutive autonomous steps whose cycles are all kept, behind the compared steps; None for none.
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
    evaluate_every: int = 0
    probe_every: int = 50
    settings: Mapping[str, float | str] = field(default_factory=dict)
    schedule: tuple[tuple[int, Mapping[str, float]], ...] = ()
    slots: int | None = None
    first_step: int = 0
    checkpoint: Path | None = None
    selection: Selection = Selection()
    network_in: str = "auto"
    energy: EnergyWindows | None = None
    latency: LatencySteps | None = None

    @property
    def name(self) -> str:
        """Name of the trial's folder."""
        words = [SHORT[value] for value in self.settings.values() if isinstance(value, str) and value in SHORT]
        parts = [self.board, self.network, self.method, self.variant, *words]
        parts += [f"b{self.batch}"] if self.batch != type(self).batch else []
        parts += [f"step{self.first_step}"] if self.first_step else []
        parts += ["latency"] if self.latency else []
        return "-".join([*parts, f"seed{self.seed}"])
