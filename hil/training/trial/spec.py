"""The specification of a trial: board, network, method, data set and everything else that determines its bits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hil.energy import MLPERF_TINY
from hil.errors import RigError, shown
from hil.gates import parse_budgets
from hil.training.networks.files import title_of
from hil.training.trial.field_checks import (
    LONGEST_PATH,
    STEPS,
    check_kind,
    check_names,
    check_shares,
    check_whole,
    check_word,
    one_sentence,
)

SHORT = {"integer": "int8star", "batch": "batchscope", "exact": "exact"}  # settings in the name of a trial's folder


@one_sentence
@dataclass(frozen=True)
class EnergyWindows:
    """How energy is measured (docs/energy.md).

    Attributes:
        windows: how many are evaluated; at least two, since one has no spread.
        steps: autonomous steps in each, at least.
        idle_ms: sleep before and after each, at least.
        uncertainty: wanted expanded uncertainty (95 %) divided by the energy; more and longer windows are measured
            until it is reached. None: the windows above are enough.
        rules: `mlperf-tiny` (five windows of ten seconds or more, their median, no idle subtracted) or empty.
        accuracy: report energy and time until the training reaches it; None: only for the evaluated accuracies.
    """

    windows: int = 6
    steps: int = 2
    idle_ms: int = 100
    uncertainty: float | None = None
    rules: str = ""
    accuracy: float | None = None

    def __post_init__(self) -> None:
        limits = {"windows": (2, 1000), "steps": (1, 1_000_000), "idle_ms": (0, 600_000)}
        check_whole("EnergyWindows", vars(self), limits)
        check_shares("EnergyWindows", {name: getattr(self, name) for name in ("uncertainty", "accuracy")})
        check_word("EnergyWindows", "rules", self.rules, ("", MLPERF_TINY))


@one_sentence
@dataclass(frozen=True)
class LatencySteps:
    """How latency is measured.

    Attributes:
        steps: consecutive autonomous steps.
        layers: whether to measure every layer of every step too, in a run for each step.
    """

    steps: int = 1000
    layers: bool = False

    def __post_init__(self) -> None:
        check_whole("LatencySteps", vars(self), {"steps": (1, 1_000_000)})
        check_word("LatencySteps", "layers", self.layers, (False, True))


@one_sentence
@dataclass(frozen=True)
class Selection:
    """How variant `selected` chooses its block (PMT, section 3.3.1).

    Attributes:
        steps: of the test training of each block.
        held_out: samples of the training set on which the gain is measured.
    """

    steps: int = 10
    held_out: int = 100

    def __post_init__(self) -> None:
        check_whole("Selection", vars(self), {"steps": (1, 1_000_000), "held_out": (1, 1_000_000)})


@one_sentence
@dataclass(frozen=True)
class TrialSpec:
    """One trial.

    Attributes:
        board: name in the catalogue.
        variant: of the method, such as `cls1`; with ElasticZO also `partition-C` for any C (docs/elasticzo.md).
        network: name of the network, or the path of a .hnet or a .tflite (docs/tflite.md).
        method: name of the method.
        data: name of the data set, or the path of your own data (docs/data.md).
        batch: samples in a step.
        seed: determines initial weights, order of samples and perturbations.
        steps: training steps, all of them compared.
        evaluate: test images for the accuracy before and after training; 0 for none.
        evaluate_every: steps between two evaluations during training; 0 for none.
        probe_every: steps between two readings of the weights through the probe.
        settings: settings of the method that differ from its defaults; one without effect beside the others is refused.
        schedule: changes of settings, each with the first step to which it applies (ElasticZO, section 5.1.1).
        slots: samples that the board holds at a time; None for as many of the batch as fit. A larger batch is streamed.
        first_step: index of the first step; not 0 if a checkpoint is continued.
        checkpoint: .npz with the weights to start from: arrays w0, w1, ... in the order of the trained tensors, int8,
            biases int32; in `float32` float32.
        selection: how variant `selected` chooses its block.
        network_in: `ram`; `flash`, with only the trained tensors copied to RAM; `auto`: RAM if it fits.
        keep: where the training samples stay on the board, `ram` or `flash`, so that a step sends their numbers only
            (docs/link.md); None to send the samples of every step. The bits are the same.
        requests: whether the trial ends with requests that no training sends: traces, tensors that are read and
            written, and what the agent must refuse (docs/link.md).
        energy: windows of autonomous steps under the power meter, after the compared steps; None for none.
        latency: consecutive autonomous steps whose cycles are all recorded, after the compared steps; None for none.
        budgets: of its figures, such as {"sram": "256 KiB", "step_time": ["310 ms", "+2 %"]} (docs/trials.md).

    Raises:
        RigError: a field has a wrong type or is out of range. Names are looked up when the trial is prepared.
    """

    board: str
    variant: str
    network: str = "lenet5"
    method: str = "elasticzo-int8"
    data: str | Path = "fashion-mnist-1k"
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
    keep: str | None = None
    requests: bool = False
    energy: EnergyWindows | None = None
    latency: LatencySteps | None = None
    budgets: Mapping[str, str | Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_kind("TrialSpec", "network", self.network, str, "give a name or a path as text")
        check_names("TrialSpec", {name: getattr(self, name) for name in NAMES} | {"network": self.network_name})
        check_names("TrialSpec", {"data": str(self.data) if isinstance(self.data, Path) else self.data}, LONGEST_PATH)
        check_whole("TrialSpec", vars(self), LIMITS)
        if self.first_step + self.steps > STEPS + 1:
            raise RigError(
                f"TrialSpec: steps is {self.steps:,} from first_step {self.first_step:,}: "
                f"the last step has an index of at most {STEPS:,}."
            )
        if self.slots is not None:
            check_whole("TrialSpec", vars(self), {"slots": (1, self.batch)})
        check_kind("TrialSpec", "settings", self.settings, Mapping, "give the settings as a dictionary")
        check_names("TrialSpec, settings", {f"the key {shown(key)}": key for key in self.settings})
        for name, (kind, example) in OPTIONAL.items():
            if getattr(self, name) is not None:
                check_kind("TrialSpec", name, getattr(self, name), kind, f"give {example}, or None")
        check_kind("TrialSpec", "selection", self.selection, Selection, "give Selection(...)")
        if not self.evaluate and self.evaluate_every:
            raise RigError(
                f"TrialSpec: evaluate_every is {self.evaluate_every:,}, but evaluate is 0: "
                "give the number of samples to evaluate."
            )
        if not self.evaluate and self.energy is not None and self.energy.accuracy is not None:
            raise RigError(
                "TrialSpec: energy asks for an accuracy, but evaluate is 0: give the number of samples to evaluate."
            )
        check_word("TrialSpec", "requests", self.requests, (False, True))
        check_word("TrialSpec", "keep", self.keep, (None, "ram", "flash"))
        parse_budgets(self.budgets, OF_TEST)
        self._check_schedule()

    def _check_schedule(self) -> None:
        check_kind(
            "TrialSpec", "schedule", self.schedule, (tuple, list), "give pairs of a step and a dictionary of settings"
        )
        before = -1
        for entry in self.schedule:
            if not (isinstance(entry, (tuple, list)) and len(entry) == 2 and isinstance(entry[1], Mapping)):
                raise RigError(
                    f"TrialSpec: schedule has {shown(entry)}: give pairs of a step and a dictionary of settings."
                )
            check_whole("TrialSpec, schedule", {"step": entry[0]}, {"step": (0, STEPS)})
            check_names("TrialSpec, schedule", {f"the key {shown(key)}": key for key in entry[1]})
            if entry[0] <= before:
                raise RigError(
                    f"the schedule names step {entry[0]} after step {before}: put its changes in order of steps."
                )
            before = entry[0]

    @property
    def network_name(self) -> str:
        """The network's name, or the name of its file without the folder, which is private."""
        return title_of(self.network)

    @property
    def name(self) -> str:
        """Name of the trial's folder."""
        subject = self.board, self.network_name, self.method, self.variant, *short_words(self.settings)
        return trial_name(subject, self.batch, self.first_step, self.latency is not None, self.seed)


def short_words(settings: Mapping[str, Any]) -> list[str]:
    """Return the words for settings in the name of a trial, in the order of the settings."""
    return [SHORT[value] for value in settings.values() if isinstance(value, str) and value in SHORT]


def trial_name(subject: Iterable[str], batch: int, first_step: int, latency: bool, seed: int) -> str:
    """Return the name of a trial's folder; `subject`: board, network, method, variant and words for settings."""
    parts = [*subject]
    parts += [f"b{batch}"] if batch != TrialSpec.batch else []
    parts += [f"step{first_step}"] if first_step else []
    parts += ["latency"] if latency else []
    return "-".join([*parts, f"seed{seed}"])


OF_TEST = "of the test"  # where the budgets of a trial are written
NAMES = ("board", "variant", "method", "network_in")
LIMITS = {
    "batch": (1, 65535), "seed": (0, 2**32 - 1), "steps": (1, STEPS), "evaluate": (0, 10_000_000),
    "evaluate_every": (0, STEPS),
    "probe_every": (1, STEPS), "first_step": (0, STEPS),
}  # fmt: skip
OPTIONAL: dict[str, tuple[Any, str]] = {
    "checkpoint": ((str, Path), "the path of an .npz"),
    "energy": (EnergyWindows, "EnergyWindows(...)"),
    "latency": (LatencySteps, "LatencySteps(...)"),
}
