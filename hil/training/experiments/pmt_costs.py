"""Tables 8 and 9 of Poor Man's Training: what one image of full and of sparse training costs, by trials on a board.

Memory and work by plan (analytic) stand beside what a board used and executed; nothing is trained but one step of one
image, bit for bit against the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from hil.errors import Blocked
from hil.report.paper_pmt import FULL, SPARSE
from hil.report.paper_pmt import Cost as Published
from hil.training.experiments import cost_files
from hil.training.experiments.cost_files import KB, kilobytes, table_line
from hil.training.experiments.elasticzo_costs import training_cycles
from hil.training.experiments.paper import paper
from hil.training.graph.values import inference_peak
from hil.training.methods import graph_method
from hil.training.networks import build, find_network
from hil.training.trial import TrialSpec
from hil.training.trial.outcome import Outcome
from hil.training.trial.prepare import prepare

TITLES = paper("pmt").experiments["pmt-table4"].titles
NETWORK, QUERIES = "mcunet-128", 50
ITERATIONS = 50_000  # of the paper's end-to-end times: 50 epochs of 1,000 images, one a step
INFERENCE = "190 KB, 22.5 million, 190 ms"  # of the paper's network (section 4.3.1)
BLOCK3 = {"train": "pointwise", "blocks": 4}  # of all sparse rows but that of the last layer
DIFFERENCES = (
    "mcunet-* has the layers of the paper's network, mcunet-128 also its input, and 10 classes; its weights are drawn, "
    "which costs the same.",
    "The equation is that of the paper's section 4.3. The plan keeps the network in flash where the board has no room, "
    "and frees buffers as soon as it may; the watermark has static data and stack on top.",
    "Multiply-accumulates are counted with padded taps. Block 3 is our reading of the paper's (docs/networks.md). With "
    "all layers every trained layer has its queries; the paper's figure is that of about 14 layers.",
    f"End-to-end time is that of {ITERATIONS:,} iterations, as many as the paper's figures divided by its latencies. "
    "Energy is left out: the paper multiplies this time by a measured power.",
    "The paper's latencies of table 8 are projected, with TFLite as the back-end (Poor Man's Training with TinyEngine: "
    "72,839 ms); those of table 9 are measured on an STM32F746.",
    "MCUTrain has momentum 0.9. The last layer only, and BP with QAS, are no rows of the paper.",
)

RunTrial = Callable[[TrialSpec, Path], Outcome]


@dataclass(frozen=True)
class Way:
    """A row: how one image is trained; the row's title is that of `TITLES`."""

    method: str
    settings: Mapping[str, Any]
    paper: Published | None = None


@dataclass(frozen=True)
class CostTable:
    """One table: its title, the paper's board, and its rows."""

    title: str
    board: str
    rows: Mapping[str, Way]


COST_TABLES: Mapping[str, CostTable] = {
    "pmt-table8": CostTable(
        "Cost of full-model training (table 8 of Poor Man's Training)",
        "stm32h7b3",
        {
            "bp-int8": Way("int8-bp", {"qas": 0}, FULL["bp"]),
            "bp-int8-qas": Way("int8-bp", {"qas": 1}),
            "pmt": Way("poor-mans-training", {}, FULL["zeroth"]),
        },
    ),
    "pmt-table9": CostTable(
        "Cost of sparse training (table 9 of Poor Man's Training)",
        "stm32f746",
        {
            "cls-only": Way("int8-bp", {"train": "last", "qas": 1}),
            "mcutrain": Way("mcutrain", BLOCK3, SPARSE["bp"]),
            "pmt": Way("poor-mans-training", BLOCK3, SPARSE["zeroth"]),
        },
    ),
}


@dataclass(frozen=True)
class Cost:
    """What one image of a row costs.

    Attributes:
        row: of the table.
        equation, macs: bytes and multiply-accumulates by the method's equations (analytic).
        planned: bytes of the arena; None if the board has no room.
        in_flash: whether the network file lies in flash.
        watermark: bytes of SRAM that the board used; None if no trial passed.
        executed: multiply-accumulates that the board executed.
        cycles: of the step without its digests; None if the board counts none.
        clock_hz: of the board.
        provenance: of the cycles, `measured` or `modelled`.
        reality, verdict, reason: of the trial; the verdict is `not run` if there was none.
    """

    row: str
    equation: int
    macs: int
    planned: int | None = None
    in_flash: bool | None = None
    watermark: int | None = None
    executed: int | None = None
    cycles: int | None = None
    clock_hz: int | None = None
    provenance: str = ""
    reality: str | None = None
    verdict: str = "not run"
    reason: str = ""

    @property
    def latency_ms(self) -> float | None:
        """Milliseconds of the step at the clock of the board."""
        return 1e3 * self.cycles / self.clock_hz if self.cycles and self.clock_hz else None


@dataclass(frozen=True)
class CostRequest:
    """What the user requested: the experiment, the board, the network and the queries of a layer."""

    name: str
    board: str
    network: str = NETWORK
    queries: int = QUERIES

    @property
    def rows(self) -> Mapping[str, Way]:
        """The rows of the table."""
        return COST_TABLES[self.name].rows

    def specification(self, row: str) -> TrialSpec:
        """Return the trial of a row: one step of one image."""
        way = self.rows[row]
        queries = {"queries": self.queries} if way.method == "poor-mans-training" else {}
        variant = graph_method(way.method).default_variant
        return TrialSpec(
            self.board, variant, self.network, way.method, find_network(self.network).data, batch=1, steps=1,
            evaluate=0, settings={**way.settings, **queries},
        )  # fmt: skip


def analysed(request: CostRequest, row: str) -> Cost:
    """Return what needs no board: equation, work and plan."""
    spec = request.specification(row)
    kind = graph_method(spec.method)
    method = kind.on(build(request.network, spec.seed), spec.variant, batch=1, seed=spec.seed, **spec.settings)
    cost = Cost(row, method.analytic()["bytes"], method.step_macs())
    try:
        prepared = prepare(spec)
    except Blocked as error:
        return replace(cost, verdict="blocked", reason=str(error))
    return replace(cost, planned=prepared.plan.total, in_flash=prepared.method.in_flash)


def measured(request: CostRequest, cost: Cost, run_trial: RunTrial, folder: Path) -> Cost:
    """Return a cost with what a trial on the board found; `folder` is for its logs."""
    if cost.planned is None:
        return cost
    folder.mkdir(parents=True, exist_ok=True)
    outcome = run_trial(request.specification(cost.row), folder)
    cost = replace(cost, reality=outcome.reality, verdict=outcome.verdict, reason=outcome.reason)
    if outcome.verdict != "pass":
        return cost
    return replace(
        cost, watermark=outcome.sram.total if outcome.sram else None,
        executed=outcome.work.macs if outcome.work else None,
        cycles=training_cycles(outcome.steps[-1].cycles) or None, clock_hz=outcome.clock_hz,
        provenance="measured" if outcome.reality == "hardware" else "modelled",
    )  # fmt: skip


def write_pmt_costs(
    request: CostRequest, out: Path, run_trial: RunTrial, say: Callable[[str], None], facts: Mapping[str, Any]
) -> bool:
    """Measure every row, and write costs.json and costs.md after each into `out`; return whether no trial failed."""
    costs = [analysed(request, row) for row in request.rows]
    _write(request, costs, out, facts)
    for place, cost in enumerate(costs):
        costs[place] = measured(request, cost, run_trial, out / "trials" / cost.row)
        say(f"{costs[place].verdict}: {cost.row} on {request.board}")
        _write(request, costs, out, facts)
    return not any(cost.verdict == "fail" for cost in costs)


def _write(request: CostRequest, costs: Sequence[Cost], out: Path, facts: Mapping[str, Any]) -> None:
    whole = {
        "experiment": request.name, "facts": dict(facts), **{name: value for name, value in asdict(request).items()
        if name != "name"}, "costs": [asdict(cost) | {"latency_ms": cost.latency_ms} for cost in costs],
        "provenance": {"equation": "analytic", "macs": "analytic", "planned": "analytic", "executed": "counted",
                       "watermark": "by reality", "cycles": "by reality"},
        "differences": list(DIFFERENCES),
    }  # fmt: skip
    cost_files.write(out, whole, as_markdown(request, costs))


def as_markdown(request: CostRequest, costs: Sequence[Cost]) -> str:
    """Return the table, the paper's figures in brackets."""
    graph = build(request.network, 1)
    peak = f"{inference_peak(graph) / KB:,.0f} KB, {graph.macs / 1e6:,.1f} million (analytic)"
    lines = [f"# {COST_TABLES[request.name].title}, {request.network} on {request.board}", ""]
    what = f"One image, Q = {request.queries}; the paper's figures in brackets. Memory in KB"
    lines += [f"{what}; inference needs {peak}, in the paper {INFERENCE}.", ""]
    titles = (
        "", "equation", "planned", "watermark", "million multiply-accumulates", "executed", "cycles", "latency, ms",
        f"{ITERATIONS:,} iterations, s", "reality",
    )  # fmt: skip
    lines += [table_line(*titles), "|---|" + "---:|" * (len(titles) - 2) + "---|"]
    for cost in costs:
        paper = request.rows[cost.row].paper
        of_paper = ("", "", "") if paper is None else (
            f" ({paper.memory_kb:,})", f" ({paper.mmacs:,})", f" ({paper.latency_ms:,})"
        )  # fmt: skip
        ms = cost.latency_ms
        lines.append(table_line(
            TITLES[cost.row], kilobytes(cost.equation) + of_paper[0], kilobytes(cost.planned),
            kilobytes(cost.watermark),
            _millions(cost.macs) + of_paper[1], _millions(cost.executed), f"{cost.cycles:,}" if cost.cycles else "–",
            ("–" if ms is None else f"{ms:,.0f}") + of_paper[2],
            "–" if ms is None else f"{ms * ITERATIONS / 1e3:.3g}",
            f"{cost.reality}, {cost.provenance}" if cost.verdict == "pass" else cost.verdict,
        ))  # fmt: skip
    lines += ["", "What differs from the paper:", "", *(f"- {sentence}" for sentence in DIFFERENCES)]
    if reasons := [cost for cost in costs if cost.reason]:
        lines += ["", "Without figures of the board:", ""]
        lines += [f"- {cost.verdict}: {TITLES[cost.row]}: {cost.reason}" for cost in reasons]
    return "\n".join(lines) + "\n"


def _millions(count: int | None) -> str:
    return "–" if count is None else f"{count / 1e6:,.1f}"
