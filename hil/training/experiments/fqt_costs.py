"""Latency and energy of a sample in figures 4 to 7 and 9 of FQT: trials on the paper's boards, without training.

Latency has steps of one sample, so that the spread over consecutive steps is that of samples; the update of a batch is
shared by its 48 samples. Energy has steps of whole batches: with one sample a step, most of it would be the update.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hil.errors import Blocked
from hil.training.experiments.fqt import (
    BATCH,
    CONFIGURATIONS,
    LAST_LAYERS,
    LAST_TWO_BLOCKS,
    MCUNET,
    SHARES,
    is_there,
    networks,
    segments,
)
from hil.training.networks import NETWORKS
from hil.training.networks.tiny_training import SIDE
from hil.training.trial import EnergyWindows, LatencySteps, TrialSpec
from hil.training.trial.latency_counts import latency_json
from hil.training.trial.outcome import Outcome
from hil.training.trial.prepare import prepare

RESET, FULL = networks("reset"), networks("full")
STEPS = 1000  # consecutive ones, over which latency and energy are averaged
SPEEDUP = 6.64  # mean over seven data sets: backward pass of `mixed` with lambda_min 0.1 on the IMXRT1062
IDLE_MA: Mapping[str, float] = {"rp2040": 31.24, "nrf52840": 7.27, "imxrt1062": 108.26}
RAM_KB: Mapping[str, int] = {"rp2040": 264, "nrf52840": 256, "imxrt1062": 1024}
WINDOWS = 5  # of energy: together as many steps as of latency
ETA = 2.0**-20  # of the trials: the weights stay where steps of one sample would drive them away

RunTrial = Callable[[TrialSpec, Path], Outcome]


@dataclass(frozen=True)
class Case:
    """One bar of a figure: what is trained where.

    Attributes:
        board: name in the catalogue.
        data, network, configuration: of the trial.
        settings: that differ from the defaults.
        share: of the channels that a backward pass takes, lambda_min and lambda_max.
    """

    board: str
    data: str
    network: str
    configuration: str
    settings: Mapping[str, float]
    share: float = 1.0

    @property
    def name(self) -> str:
        """Name of the folder of its trials."""
        share = "" if self.share == 1 else f"-{self.share:g}"
        return f"{self.board}-{self.network}-{self.layers}{share}"

    @property
    def layers(self) -> str:
        """How many layers are trained."""
        return f"last {self.settings['last_layers']:g}" if "last_layers" in self.settings else "all"

    def _specification(self, batch: int) -> TrialSpec:
        sparse = {} if self.share == 1 else {"lambda_min": self.share, "lambda_max": self.share}
        return TrialSpec(
            self.board, self.configuration, self.network, "fqt", self.data, batch=batch, steps=2, evaluate=0,
            settings={**self.settings, **sparse, "eta": ETA},
        )  # fmt: skip

    def latency(self, steps: int) -> TrialSpec:
        """Return the trial of latency: two compared steps, then the counted ones, each of one sample."""
        return replace(self._specification(1), latency=LatencySteps(steps))

    def energy(self, samples: int) -> TrialSpec:
        """Return the trial of energy: two compared steps, then about so many samples under the meter, in batches."""
        windows = EnergyWindows(windows=WINDOWS, steps=max(samples // (WINDOWS * BATCH), 1))
        return replace(self._specification(BATCH), energy=windows)


@dataclass(frozen=True)
class Cost:
    """What a case costs.

    Attributes:
        case: of the figure.
        memory: bytes by segment (analytic).
        planned: bytes of the arena, with one sample; None if the board has no room.
        watermarks: bytes of SRAM that the board used, by samples of a step.
        cycles: mean and standard deviation (n - 1) of a sample, by `forward`, `backward`, `update` of a step.
        clock_hz, steps: of the counted steps.
        energy: joules of a sample above idle, their standard uncertainty, and idle power in W; empty without a meter.
        in_flash: whether the network file lies in flash.
        provenance: of cycles and energy, `measured` or `modelled`.
        reality, verdict, reason: of the trials; the verdict is `not run` if there was none.
    """

    case: Case
    memory: Mapping[str, int]
    planned: int | None = None
    in_flash: bool | None = None
    watermarks: Mapping[int, int] = field(default_factory=dict)
    cycles: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    clock_hz: int | None = None
    steps: int = 0
    energy: Mapping[str, float] = field(default_factory=dict)
    provenance: str = ""
    reality: str | None = None
    verdict: str = "not run"
    reason: str = ""

    def ms(self, phase: str) -> tuple[float, float] | None:
        """Return milliseconds of a sample and their deviation; an update is shared by the samples of a batch."""
        if phase not in self.cycles or not self.clock_hz:
            return None
        samples = BATCH if phase == "update" else 1
        mean, deviation = (1e3 * value / self.clock_hz / samples for value in self.cycles[phase])
        return mean, deviation


@dataclass(frozen=True)
class Figure:
    """What a figure of costs needs.

    Attributes:
        title: of its page.
        cases: makes its cases for some boards.
        boards: those of the paper.
        energy: whether the meter is read.
        differences: from the paper.
    """

    title: str
    cases: Callable[[Sequence[str]], list[Case]]
    boards: tuple[str, ...]
    energy: bool = False
    differences: tuple[str, ...] = ()


def transfer(on: Sequence[str], sets: Sequence[str] = tuple(RESET)) -> list[Case]:
    """Return the cases of transfer learning: every data set that is there, in every configuration."""
    return [
        Case(board, data, f"{RESET[data]}-{configuration}", configuration, {"last_layers": LAST_LAYERS})
        for board in on
        for data in _first_of_network(sets, RESET)
        for configuration in CONFIGURATIONS
    ]


def sparse(on: Sequence[str]) -> list[Case]:
    """Return the cases of figure 6d: `mixed` with three shares of the channels."""
    return [replace(case, share=share) for case in transfer(on) if case.configuration == "mixed" for share in SHARES]


def full(on: Sequence[str]) -> list[Case]:
    """Return the cases of figure 7b: all layers of the small network."""
    (data,) = _first_of_network(("fashion-mnist-1k",), FULL)
    return [
        Case(board, data, f"{FULL[data]}-{configuration}", configuration, {})
        for board in on
        for configuration in CONFIGURATIONS
    ]


def mcunet(on: Sequence[str]) -> list[Case]:
    """Return the cases of figure 9: `mbednet` beside MCUNet-5FPS, if the user has it."""
    found = [
        Case(board, "fashion-mnist-1k", f"mbednet-reset-{one}", one, {"last_layers": LAST_LAYERS})
        for board in on
        for one in CONFIGURATIONS
    ]
    if f"{MCUNET}-uint8" in NETWORKS:
        data = f"fashion-mnist-1k@{SIDE}x{SIDE}x3"
        found += [
            Case(board, data, f"{MCUNET}-{one}", one, {"last_layers": layers})
            for board in on
            for layers in (LAST_TWO_BLOCKS, 1)  # the first fits none of the boards
            for one in CONFIGURATIONS
        ]
    return found


def _first_of_network(sets: Sequence[str], networks: Mapping[str, str]) -> list[str]:
    """Return the first data set of each network that is there: others cost the same."""
    found: dict[str, str] = {}
    for data in sets:
        if is_there(data):
            found.setdefault(networks[data], data)
    return list(found.values())


def analysed(case: Case) -> Cost:
    """Return what needs no board: the memory by segment, and the plan."""
    cost = Cost(case, segments(case.network, case.configuration, case.settings))
    try:
        prepared = prepare(case.latency(1))
    except Blocked as error:
        return replace(cost, verdict="blocked", reason=str(error))
    return replace(cost, planned=prepared.plan.total, in_flash=prepared.method.in_flash)


def measured(cost: Cost, steps: int, energy: bool, run_trial: RunTrial, folder: Path) -> Cost:
    """Return a cost with what trials on the board found; `folder` is for their logs."""
    if cost.planned is None:
        return cost
    outcome = _run(cost.case.latency(steps), run_trial, folder / "latency")
    cost = replace(cost, reality=outcome.reality, verdict=outcome.verdict, reason=outcome.reason)
    if outcome.verdict != "pass" or outcome.latency is None or outcome.prepared is None or not outcome.clock_hz:
        return cost
    facts = latency_json(outcome.latency, outcome.prepared.method.bookings(), outcome.clock_hz)
    phases = {name: facts["phases"][name] for name in ("forward", "backward", "update")}
    cycles = {name: (its["mean"], its["sd"]) for name, its in phases.items()}
    cost = replace(
        cost, cycles=cycles, clock_hz=outcome.clock_hz, steps=facts["steps"], provenance=facts["provenance"],
        watermarks=_watermark(outcome),
    )  # fmt: skip
    if not energy:
        return cost
    try:
        outcome = _run(cost.case.energy(steps), run_trial, folder / "energy")
    except Blocked as error:
        return replace(cost, reason=f"energy: {error}")
    if outcome.verdict != "pass":
        return replace(cost, verdict=outcome.verdict, reason=f"energy: {outcome.reason}")
    return replace(cost, energy=_energy(outcome), watermarks={**cost.watermarks, **_watermark(outcome)})


def _run(spec: TrialSpec, run_trial: RunTrial, folder: Path) -> Outcome:
    folder.mkdir(parents=True, exist_ok=True)
    return run_trial(spec, folder)


def _watermark(outcome: Outcome) -> dict[int, int]:
    return {outcome.spec.batch: outcome.sram.total} if outcome.sram else {}


def _energy(outcome: Outcome) -> dict[str, float]:
    if outcome.energy is None:
        return {}
    facts = outcome.energy.to_json()
    found = {"joules": facts["per_sample"], "idle_watts": facts["idle_power"]}
    return {name: one["value"] for name, one in found.items()} | {"uncertainty": facts["per_sample"]["uncertainty"]}


def speedups(costs: Sequence[Cost]) -> dict[str, dict[float, float]]:
    """Return how many times cheaper the backward pass is than with all channels, by network and share."""
    whole = {cost.case.network: cost for cost in costs if cost.case.share == 1 and cost.cycles}
    found: dict[str, dict[float, float]] = {}
    for cost in costs:
        dense = whole.get(cost.case.network)
        if cost.cycles and cost.case.share < 1 and dense is not None:
            ratio = dense.cycles["backward"][0] / cost.cycles["backward"][0]
            found.setdefault(cost.case.network, {})[cost.case.share] = ratio
    return found
