"""Figures 4b, 5, 6d, 7b and 9 of FQT: latency and energy of a sample on the paper's boards.

Latency has steps of one sample, so that the spread over consecutive steps is that of samples; the update of a batch is
shared by its 48 samples. Energy has steps of whole batches: with one sample a step, most of it would be the update.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from hil.errors import Blocked
from hil.training.experiments.costs import NOTHING, CostExperiment, RowCost, RunTrial, kilobytes, table_lines
from hil.training.experiments.fqt import (
    BATCH,
    CONFIGURATIONS,
    LAST_LAYERS,
    LAST_TWO_BLOCKS,
    MCUNET,
    MCUNET_DATA,
    SHARES,
    is_there,
    networks,
    segments,
)
from hil.training.experiments.paper import paper
from hil.training.networks import NETWORKS
from hil.training.networks.tiny_training import SIDE
from hil.training.trial import EnergyWindows, LatencySteps, TrialSpec
from hil.training.trial.latency_counts import latency_json
from hil.training.trial.outcome import Outcome

VALUES = paper("fqt").values
FIGURES: Mapping[str, Mapping[str, Any]] = VALUES["costs"]["figures"]
STEPS = 1000  # consecutive ones, over which latency and energy are averaged
SPEEDUP = 6.64  # mean over seven data sets: backward pass of `mixed` with lambda_min 0.1 on the IMXRT1062
WINDOWS = 5  # of energy: together as many steps as of latency
ETA = 2.0**-20  # of the trials: the weights stay where steps of one sample would drive them away
PHASES = ("forward", "backward", "update")
CASE = ("board", "data", "network", "trained")
TIMES = ("share", "steps", "forward, ms", "backward, ms", "update, ms", "backward, cycles")
ENERGY = ("energy, mJ", "idle, W")
PLACES = {None: NOTHING, True: "flash", False: "RAM"}


@dataclass(frozen=True)
class CostBar:
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
class FqtCost(RowCost):
    """What a case costs.

    Attributes:
        case: of the figure.
        memory: bytes by segment (analytic).
        watermarks: bytes of SRAM that the board used, by samples of a step.
        cycles: mean and standard deviation (n - 1) of a sample, by `forward`, `backward`, `update` of a step.
        clock_hz, steps: of the counted steps.
        energy: joules of a sample above idle, their standard uncertainty, and idle power in W; empty without a meter.
        in_flash: whether the network file lies in flash.
        provenance: of cycles and energy, `measured` or `modelled`.
    """

    case: CostBar
    memory: Mapping[str, int]
    in_flash: bool | None = None
    watermarks: Mapping[int, int] = field(default_factory=dict)
    cycles: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    clock_hz: int | None = None
    steps: int = 0
    energy: Mapping[str, float] = field(default_factory=dict)
    provenance: str = ""

    def ms(self, phase: str) -> str:
        """Return milliseconds of a sample and their deviation; an update is shared by the samples of a batch."""
        if phase not in self.cycles or not self.clock_hz:
            return NOTHING
        samples = BATCH if phase == "update" else 1
        mean, deviation = (1e3 * value / self.clock_hz / samples for value in self.cycles[phase])
        return f"{mean:.3f} ± {deviation:.3f}"

    @property
    def named(self) -> tuple[str, ...]:
        """The first entries of its line."""
        return self.case.board, self.case.data, self.case.network, self.case.layers


class FqtCosts(CostExperiment[FqtCost]):
    """A figure on some boards, empty for the paper's, with so many steps."""

    def __init__(self, name: str, boards: Sequence[str] = (), steps: int = 0) -> None:
        self.name, self.declared = name, FIGURES[name]
        self.boards, self.steps = tuple(boards or self.declared["boards"]), steps or STEPS
        sentences = paper("fqt").experiments["fqt-figure4"].sentences
        own = (str(sentences.get(one, one)) for one in self.declared.get("differences", ()))
        self.differences = (*VALUES["costs"]["common"], *own)

    def cases(self) -> list[CostBar]:
        """Return the bars: of the first data set that is there of each network, since others cost the same."""
        found = [case for board in self.boards for case in self._on(board)]
        if self.declared["cases"] != "sparse":
            return found
        return [replace(case, share=share) for case in found if case.configuration == "mixed" for share in SHARES]

    def _on(self, board: str) -> Iterator[CostBar]:
        kind = self.declared["cases"]
        known = networks("full" if kind == "full" else "reset")
        sets = (MCUNET_DATA,) if kind in ("full", "mcunet") else self.declared.get("data", known)
        settings = {} if kind == "full" else {"last_layers": LAST_LAYERS}
        first: dict[str, str] = {}
        for data in filter(is_there, sets):
            first.setdefault(known[data], data)
        for network, data in first.items():
            for one in CONFIGURATIONS:
                yield CostBar(board, data, f"{network}-{one}", one, settings)
        if kind == "mcunet" and f"{MCUNET}-uint8" in NETWORKS:
            for layers in (LAST_TWO_BLOCKS, 1):  # the first fits none of the boards
                for one in CONFIGURATIONS:
                    data = f"{MCUNET_DATA}@{SIDE}x{SIDE}x3"
                    yield CostBar(board, data, f"{MCUNET}-{one}", one, {"last_layers": layers})

    def analysed(self) -> list[FqtCost]:
        """Return what needs no board: the memory by segment, and the plan."""
        return [self.analysed_case(case) for case in self.cases()]

    def analysed_case(self, case: CostBar) -> FqtCost:
        """Return what a case needs by plan."""
        return self.planned(FqtCost(case, segments(case.network, case.configuration, case.settings)))

    def trial(self, cost: FqtCost) -> TrialSpec:
        """Return the trial of latency."""
        return cost.case.latency(self.steps)

    def of_trial(self, outcome: Outcome) -> Mapping[str, Any]:
        """Return the cycles of a sample and the watermark; nothing if the board counts no cycles."""
        if outcome.latency is None or outcome.prepared is None or not outcome.clock_hz:
            return {}
        facts = latency_json(outcome.latency, outcome.prepared.method.figures.bookings(), outcome.clock_hz)
        cycles = {name: (facts["phases"][name]["mean"], facts["phases"][name]["sd"]) for name in PHASES}
        return {
            "cycles": cycles, "clock_hz": outcome.clock_hz, "steps": facts["steps"],
            "provenance": facts["provenance"], "watermarks": _watermark(outcome),
        }  # fmt: skip

    def measured(self, cost: FqtCost, run_trial: RunTrial, folder: Path) -> FqtCost:
        """Return a cost with what trials of latency and energy on the board found."""
        cost = super().measured(cost, run_trial, folder / "latency")
        if not cost.cycles or not self.declared.get("energy"):
            return cost
        (folder / "energy").mkdir(parents=True, exist_ok=True)
        try:
            outcome = run_trial(cost.case.energy(self.steps), folder / "energy")
        except Blocked as error:
            return replace(cost, reason=f"energy: {error}")
        if outcome.verdict != "pass":
            return replace(cost, verdict=outcome.verdict, reason=f"energy: {outcome.reason}")
        return replace(cost, energy=_energy(outcome), watermarks={**cost.watermarks, **_watermark(outcome)})

    def called(self, cost: FqtCost) -> tuple[str, str, str]:
        """Return the name of the case."""
        return (cost.case.name,) * 3

    def facts(self, costs: Sequence[FqtCost]) -> Mapping[str, Any]:
        """Return all cases and speedups."""
        return {
            "costs": [asdict(cost) for cost in costs], "paper_speedup": SPEEDUP,
            "speedups": {network: {f"{share:g}": one for share, one in its.items()} for network, its in
                         speedups(costs).items()},
            "provenance": {"memory": "analytic", "planned": "analytic", "watermark": "counted"},
        }  # fmt: skip

    def tables(self, costs: Sequence[FqtCost]) -> list[str]:
        """Return the tables of time, energy and memory."""
        energy = bool(self.declared.get("energy"))
        lines = [f"# {self.declared['title']}", "", f"Of a sample; the paper has {STEPS:,} consecutive steps.", ""]
        heads = (*CASE, *TIMES, *(ENERGY if energy else ()), "reality")
        lines += table_lines(heads, (_time(cost, energy) for cost in costs), len(CASE), 1)
        lines += _speedup_lines(speedups(costs))
        what = f"by segment (analytic, the network file in flash), arena by plan, watermarks with 1 and {BATCH} samples"
        lines += ["", f"Memory in KB: {what}; RAM of the paper's board.", ""]
        parts = tuple(costs[0].memory) if costs else ()
        heads = (*CASE, *parts, "arena", "1 sample", f"{BATCH} samples", "RAM", "file in")
        lines += table_lines(heads, (_memory(cost, parts) for cost in costs), len(CASE), 1)
        if energy:
            currents = "; ".join(f"{board} {its['idle_ma']} mA" for board, its in VALUES["boards"].items())
            lines += ["", f"Energy is above idle. Currents of the idle boards in the paper's table II: {currents}."]
        return lines


def speedups(costs: Sequence[FqtCost]) -> dict[str, dict[float, float]]:
    """Return how many times cheaper the backward pass is than with all channels, by network and share."""
    whole = {cost.case.network: cost for cost in costs if cost.case.share == 1 and cost.cycles}
    found: dict[str, dict[float, float]] = {}
    for cost in costs:
        dense = whole.get(cost.case.network)
        if cost.cycles and cost.case.share < 1 and dense is not None:
            ratio = dense.cycles["backward"][0] / cost.cycles["backward"][0]
            found.setdefault(cost.case.network, {})[cost.case.share] = ratio
    return found


def _watermark(outcome: Outcome) -> dict[int, int]:
    return {outcome.spec.batch: outcome.sram.total} if outcome.sram else {}


def _energy(outcome: Outcome) -> dict[str, float]:
    if outcome.energy is None:
        return {}
    facts = outcome.energy.to_json()
    joules, idle = facts["per_sample"], facts["idle_power"]
    return {"joules": joules["value"], "idle_watts": idle["value"], "uncertainty": joules["uncertainty"]}


def _time(cost: FqtCost, energy: bool) -> list[str]:
    cycles = f"{cost.cycles['backward'][0]:,.0f}" if cost.cycles else NOTHING
    entries = [*cost.named, f"{cost.case.share:g}", str(cost.steps or NOTHING), *map(cost.ms, PHASES), cycles]
    if energy and cost.energy:
        joules, uncertainty = 1e3 * cost.energy["joules"], 1e3 * cost.energy["uncertainty"]
        entries += [f"{joules:.4g} ± {uncertainty:.2g}", f"{cost.energy['idle_watts']:.3f}"]
    elif energy:
        entries += [NOTHING, NOTHING]
    return [*entries, f"{cost.reality}, {cost.provenance}" if cost.cycles else cost.verdict]


def _memory(cost: FqtCost, parts: Sequence[str]) -> list[str]:
    sizes = (*(cost.memory[part] for part in parts), cost.planned, *(cost.watermarks.get(n) for n in (1, BATCH)))
    ram = str(VALUES["boards"].get(cost.case.board, {}).get("ram_kb", NOTHING))
    return [*cost.named, *map(kilobytes, sizes), ram, PLACES[cost.in_flash]]


def _speedup_lines(found: Mapping[str, Mapping[float, float]]) -> list[str]:
    if not found:
        return []
    lines = ["", "Backward pass with all channels divided by that with a share of them, in cycles:", ""]
    for network, its in found.items():
        lines.append(f"- {network}: " + ", ".join(f"{share:g}: {ratio:.2f}" for share, ratio in its.items()))
    if least := [its[SHARES[-1]] for its in found.values() if SHARES[-1] in its]:
        theirs = f"the paper's mean over seven data sets is {SPEEDUP}"
        lines.append(f"- mean at {SHARES[-1]:g}: {fmean(least):.2f}; {theirs}")
    return lines
