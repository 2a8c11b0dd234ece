"""Tables 8 and 9 of Poor Man's Training: what one image of full and of sparse training costs.

Nothing is trained but one step of one image, bit for bit against the reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hil.report.paper_pmt import FULL, SPARSE, PublishedCost
from hil.training.experiments.costs import KB, NOTHING, CostExperiment, RowCost, kilobytes, table_lines, training_cycles
from hil.training.experiments.paper import paper
from hil.training.graph.graph import inference_peak
from hil.training.methods import graph_method
from hil.training.networks import build, find_network
from hil.training.trial import TrialSpec
from hil.training.trial.outcome import Outcome

TITLES = paper("pmt").experiments["pmt-table4"].titles
COST_TABLES: Mapping[str, Mapping[str, Any]] = paper("pmt").values["costs"]["tables"]
NETWORK, QUERIES = "mcunet-128", 50
ITERATIONS = 50_000  # of the paper's end-to-end times: 50 epochs of 1,000 images, one a step
INFERENCE = "190 KB, 22.5 million, 190 ms"  # of the paper's network (section 4.3.1)
HEADS = (
    "", "equation", "planned", "watermark", "million multiply-accumulates", "executed", "cycles", "latency, ms",
    f"{ITERATIONS:,} iterations, s", "reality",
)  # fmt: skip
PROVENANCE = {
    "equation": "analytic", "macs": "analytic", "planned": "analytic", "executed": "counted",
    "watermark": "by reality", "cycles": "by reality",
}  # fmt: skip


@dataclass(frozen=True)
class PmtCost(RowCost):
    """What one image of a row costs.

    Attributes:
        row: of the table.
        equation, macs: bytes and multiply-accumulates by the method's equations (analytic).
        in_flash: whether the network file lies in flash.
        watermark: bytes of SRAM that the board used; None if no trial passed.
        executed: multiply-accumulates that the board executed.
        cycles: of the step without its digests; None if the board counts none.
        clock_hz: of the board.
        provenance: of the cycles, `measured` or `modelled`.
    """

    row: str
    equation: int
    macs: int
    in_flash: bool | None = None
    watermark: int | None = None
    executed: int | None = None
    cycles: int | None = None
    clock_hz: int | None = None
    provenance: str = ""

    @property
    def latency_ms(self) -> float | None:
        """Milliseconds of the step at the clock of the board."""
        return 1e3 * self.cycles / self.clock_hz if self.cycles and self.clock_hz else None


class PmtCosts(CostExperiment[PmtCost]):
    """One of the tables, on a board with a network and the queries of a layer; empty or 0: those of the paper."""

    differences = paper("pmt").values["costs"]["differences"]

    def __init__(self, name: str, board: str = "", network: str = "", queries: int = 0) -> None:
        self.name, self.board = name, board or COST_TABLES[name]["board"]
        self.network, self.queries = network or NETWORK, queries or QUERIES

    def specification(self, row: str) -> TrialSpec:
        """Return the trial of a row: one step of one image."""
        way = COST_TABLES[self.name]["rows"][row]
        queries = {"queries": self.queries} if way["method"] == "poor-mans-training" else {}
        variant, data = graph_method(way["method"]).default_variant, find_network(self.network).data
        return TrialSpec(
            self.board, variant, self.network, way["method"], data, batch=1, steps=1, evaluate=0,
            settings={**way.get("settings", {}), **queries},
        )  # fmt: skip

    def analysed(self) -> list[PmtCost]:
        """Return what needs no board: equation, work and plan."""
        return [self.analysed_row(row) for row in COST_TABLES[self.name]["rows"]]

    def analysed_row(self, row: str) -> PmtCost:
        """Return what a row needs by equation and plan."""
        spec = self.specification(row)
        kind = graph_method(spec.method)
        method = kind.on(build(self.network, spec.seed), spec.variant, batch=1, seed=spec.seed, **spec.settings)
        return self.planned(PmtCost(row, method.figures.analytic()["bytes"], method.figures.step_macs()))

    def trial(self, cost: PmtCost) -> TrialSpec:
        """Return the trial of a row."""
        return self.specification(cost.row)

    def of_trial(self, outcome: Outcome) -> Mapping[str, Any]:
        """Return watermark, work and cycles."""
        return {
            "watermark": outcome.sram.total if outcome.sram else None,
            "executed": outcome.work.macs if outcome.work else None,
            "cycles": training_cycles(outcome.steps[-1].cycles) or None, "clock_hz": outcome.clock_hz,
            "provenance": "measured" if outcome.reality == "hardware" else "modelled",
        }  # fmt: skip

    def called(self, cost: PmtCost) -> tuple[str, str, str]:
        """Return the row and its title."""
        return cost.row, f"{cost.row} on {self.board}", TITLES[cost.row]

    def facts(self, costs: Sequence[PmtCost]) -> Mapping[str, Any]:
        """Return all rows."""
        found = [asdict(cost) | {"latency_ms": cost.latency_ms} for cost in costs]
        asked = {"board": self.board, "network": self.network, "queries": self.queries}
        return {**asked, "costs": found, "provenance": PROVENANCE}

    def tables(self, costs: Sequence[PmtCost]) -> list[str]:
        """Return the table, the paper's figures in brackets."""
        graph = build(self.network, 1)
        peak = f"{inference_peak(graph) / KB:,.0f} KB, {graph.macs / 1e6:,.1f} million (analytic)"
        lines = [f"# {COST_TABLES[self.name]['title']}, {self.network} on {self.board}", ""]
        what = f"One image, Q = {self.queries}; the paper's figures in brackets. Memory in KB"
        lines += [f"{what}; inference needs {peak}, in the paper {INFERENCE}.", ""]
        return [*lines, *table_lines(HEADS, map(self._line, costs), last=1)]

    def _line(self, cost: PmtCost) -> list[str]:
        published: PublishedCost | None = (FULL if self.name == "pmt-table8" else SPARSE).get(
            COST_TABLES[self.name]["rows"][cost.row].get("published", "")
        )
        memory, macs, latency = ("", "", "") if published is None else (
            f" ({published.memory_kb:,})", f" ({published.mmacs:,})", f" ({published.latency_ms:,})"
        )  # fmt: skip
        ms = cost.latency_ms
        return [
            TITLES[cost.row], kilobytes(cost.equation) + memory, kilobytes(cost.planned), kilobytes(cost.watermark),
            _millions(cost.macs) + macs, _millions(cost.executed), f"{cost.cycles:,}" if cost.cycles else NOTHING,
            (NOTHING if ms is None else f"{ms:,.0f}") + latency,
            NOTHING if ms is None else f"{ms * ITERATIONS / 1e3:.3g}",
            f"{cost.reality}, {cost.provenance}" if cost.verdict == "pass" else cost.verdict,
        ]  # fmt: skip


def _millions(count: int | None) -> str:
    return NOTHING if count is None else f"{count / 1e6:,.1f}"
