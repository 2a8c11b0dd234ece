"""Figures 4 to 7 of ElasticZO: memory and time of its variants in FP32 and in INT8.

Memory by the paper's equations stands beside the planned SRAM and the watermark of a board, time by phase beside the
shares of the paper's Raspberry Pi Zero 2, and both as ratios of FP32 to INT8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from hil.errors import Blocked
from hil.training.experiments import cost_files
from hil.training.experiments.cost_files import KB, kilobytes, table_line
from hil.training.experiments.paper import paper
from hil.training.methods import METHODS
from hil.training.networks import build
from hil.training.trial import TrialSpec
from hil.training.trial.outcome import PHASES, Outcome
from hil.training.trial.prepare import prepare

NAME = "elasticzo-costs"
TITLES = paper("elasticzo").experiments["elasticzo-table1"].titles
ROWS = paper("elasticzo").experiments["elasticzo-table1"].rows
BATCHES = (32, 256)  # of the equations (figures 4 and 5)
BATCH = 32  # of the steps on the board, so that both formats do the same work
# column: network, method, data set with samples of its size
COLUMNS: Mapping[str, tuple[str, str, str]] = {
    "fp32": ("lenet5-float32", "elasticzo-fp32", "fashion-mnist-1k"),
    "int8": ("lenet5", "elasticzo-int8", "fashion-mnist-1k"),
    "pointnet": ("pointnet-float32", "elasticzo-fp32", "fashion-mnist-1k@16x16x3"),
}
COLUMN_TITLES = {"fp32": "LeNet-5 FP32", "int8": "LeNet-5 INT8", "pointnet": "PointNet FP32"}
# Published (sections 5.3 and 5.4): FP32 training memory in KB by batch and row, and shares of the time of an epoch.
PAPER_KB: Mapping[tuple[int, str], float] = {
    (32, "full-zo"): 2.6 * KB, (32, "cls2"): 2.6 * KB + 4.6, (32, "cls1"): 2.6 * KB + 65.3, (32, "full-bp"): 5.2 * KB,
    (256, "full-zo"): 18.0 * KB, (256, "cls2"): 18.0 * KB + 13.3, (256, "cls1"): 18.0 * KB + 221.0,
    (256, "full-bp"): 36.1 * KB,
}  # fmt: skip
PAPER_SHARES: Mapping[tuple[str, str], str] = {
    ("fp32", "forward"): "84.3-84.8 %", ("fp32", "backward"): "< 0.76 %", ("fp32", "perturb and update"): "11.8-13.1 %",
    ("int8", "forward"): "94.8-97.1 %", ("int8", "backward"): "< 2.5 %", ("int8", "perturb and update"): "1.0-1.2 %",
}  # fmt: skip
PAPER_MEMORY_RATIO, PAPER_TIME_RATIO = "1.46-1.60", "1.38-1.42"
DIFFERENCES = (
    "The equations keep all activations and errors of a batch. The plan keeps those of one sample at a time, so its "
    "ratio of FP32 to INT8 is another one.",
    "PointNet has 15,082 parameters here and 256 points; the paper's figure 6 has 816,744 and 1,024.",
    "Time is that of one step of 32 samples on the board, not of an epoch on a Raspberry Pi Zero 2 with NEON and four "
    "threads; only shares and ratios are compared. Perturbing restores and updates at once, so both are one share.",
)

RunTrial = Callable[[TrialSpec, Path], Outcome]


@dataclass(frozen=True)
class Cost:
    """Memory and time of one variant in one column.

    Attributes:
        analytic: bytes by the paper's equations, by batch. planned: bytes of the arena on the board, `slots` samples
            held at a time; None if the board has no room.
        watermark: bytes of SRAM that the board used; None if no trial passed.
        cycles: of one step by phase; empty if the board counts none.
        reality, verdict, reason: of the trial; the verdict is `not run` if there was none.
    """

    column: str
    row: str
    equation: str
    analytic: Mapping[int, int]
    planned: int | None
    slots: int | None
    watermark: int | None = None
    cycles: Mapping[str, int] | None = None
    reality: str | None = None
    verdict: str = "not run"
    reason: str = ""


def specification(column: str, row: str, board: str) -> TrialSpec:
    """Return the trial of a cell: two steps of 32 samples."""
    network, method, data = COLUMNS[column]
    return TrialSpec(board, row, network, method, data, batch=BATCH, steps=2, evaluate=0)


def analysed(column: str, row: str, board: str) -> Cost:
    """Return what needs no board: the equations and the plan."""
    network, method, _ = COLUMNS[column]
    graph = build(network, 1)
    found = {batch: METHODS[method].on(graph, row, batch=batch).analytic() for batch in BATCHES}
    sizes = {batch: facts["bytes"] for batch, facts in found.items()}
    equation = found[BATCH]["equation"]
    try:
        prepared = prepare(specification(column, row, board))
    except Blocked as error:
        return Cost(column, row, equation, sizes, None, None, verdict="blocked", reason=str(error))
    return Cost(column, row, equation, sizes, prepared.plan.total, prepared.slots)


def measured(cost: Cost, board: str, run_trial: RunTrial, folder: Path) -> Cost:
    """Return a cost with watermark and cycles of a trial on the board; `folder` is for its logs."""
    if cost.planned is None:
        return cost
    folder.mkdir(parents=True, exist_ok=True)
    outcome = run_trial(specification(cost.column, cost.row, board), folder)
    cost = replace(cost, reality=outcome.reality, verdict=outcome.verdict, reason=outcome.reason)
    if outcome.verdict != "pass":
        return cost
    last = outcome.steps[-1].cycles
    cycles = {phase: last[phase] for phase in PHASES if phase in last}
    return replace(cost, watermark=outcome.sram.total if outcome.sram else None, cycles=cycles)


def costs(board: str, out: Path, run_trial: RunTrial, say: Callable[[str], None], facts: Mapping[str, Any]) -> bool:
    """Measure every cell, and write costs.json and costs.md after each into `out`; return whether no trial failed."""
    cells = [analysed(column, row, board) for column in COLUMNS for row in ROWS]
    write(cells, board, out, facts)
    for place, cell in enumerate(cells):
        cells[place] = measured(cell, board, run_trial, out / "trials" / f"{cell.column}-{cell.row}")
        say(f"{cells[place].verdict}: {cell.column} {cell.row} on {board}")
        write(cells, board, out, facts)
    return not any(cell.verdict == "fail" for cell in cells)


def ratios(cells: Sequence[Cost]) -> dict[str, dict[str, float | None]]:
    """Return FP32 divided by INT8 of LeNet-5 by row: memory by the equations, planned, watermark, and time."""
    at = {(cell.column, cell.row): cell for cell in cells}

    def of(row: str, value: Callable[[Cost], float | None]) -> float | None:
        above, below = value(at["fp32", row]), value(at["int8", row])
        return above / below if above and below else None

    return {
        row: {f"equations, B = {batch}": of(row, lambda cost, batch=batch: cost.analytic[batch]) for batch in BATCHES}  # type: ignore[misc]
        | {
            "planned": of(row, lambda cost: cost.planned),
            "watermark": of(row, lambda cost: cost.watermark),
            "time": of(row, lambda cost: training_cycles(cost.cycles)),
        }
        for row in ROWS
    }


def training_cycles(cycles: Mapping[str, int] | None) -> int:
    """Return the cycles of a step without the digest, which only the rig needs; 0 if none were counted."""
    return sum(cycles.get(phase, 0) for phase in ("perturb", "forward", "backward", "update")) if cycles else 0


def shares(cycles: Mapping[str, int] | None) -> dict[str, float]:
    """Return the share of each phase as the paper groups them; empty if no cycles were counted."""
    whole = training_cycles(cycles)
    if not cycles or not whole:
        return {}
    moved = cycles.get("perturb", 0) + cycles.get("update", 0)
    parts = {"forward": cycles.get("forward", 0), "backward": cycles.get("backward", 0), "perturb and update": moved}
    return {name: part / whole for name, part in parts.items()}


def write(cells: Sequence[Cost], board: str, out: Path, facts: Mapping[str, Any]) -> None:
    """Write costs.json and costs.md."""
    provenance = {"analytic": "analytic", "planned": "analytic", "watermark": "by reality", "cycles": "by reality"}
    whole = {
        "experiment": NAME, "facts": dict(facts), "board": board, "batch": BATCH, "provenance": provenance,
        "cells": [asdict(cell) | {"shares": shares(cell.cycles)} for cell in cells], "ratios": ratios(cells),
        "differences": list(DIFFERENCES),
    }  # fmt: skip
    cost_files.write(out, whole, as_markdown(cells, board))


def as_markdown(cells: Sequence[Cost], board: str) -> str:
    """Return the tables of memory, time and ratios."""
    lines = [f"# Memory and time of ElasticZO in FP32 and INT8 (figures 4 to 7), {board}", ""]
    lines += ["Training memory in KB (the paper's in brackets); planned and watermark: SRAM on the board.", ""]
    lines += [
        "| | | equation | B = 32 | B = 256 | planned | slots | watermark | reality |",
        "|---|---|---|" + "---:|" * 5 + "---|",
    ]
    for cell in cells:
        by_batch, passed = (_analytic(cell, batch) for batch in BATCHES), cell.verdict == "pass"
        lines.append(table_line(
            COLUMN_TITLES[cell.column], TITLES[cell.row], cell.equation, *by_batch, kilobytes(cell.planned),
            str(cell.slots or "–"), kilobytes(cell.watermark),
            cell.reality if passed and cell.reality else cell.verdict,
        ))  # fmt: skip
    lines += ["", f"Share of the cycles of a step of {BATCH} samples, without digests (the paper's in brackets).", ""]
    lines += ["| | | forward | backward | perturb and update | cycles |", "|---|---|" + "---:|" * 4]
    for cell in cells:
        found = shares(cell.cycles)
        parts = (_share(cell, name, found) for name in ("forward", "backward", "perturb and update"))
        cycles = f"{training_cycles(cell.cycles):,}" if found else "–"
        lines.append(table_line(COLUMN_TITLES[cell.column], TITLES[cell.row], *parts, cycles))
    by_row = ratios(cells)
    heads = list(by_row[ROWS[0]])
    lines += [
        "",
        f"FP32 divided by INT8, LeNet-5. The paper: memory {PAPER_MEMORY_RATIO}, time {PAPER_TIME_RATIO}.",
        "",
    ]
    lines += [table_line("", *heads), "|---|" + "---:|" * len(heads)]
    for row, its in by_row.items():
        lines.append(table_line(TITLES[row], *("–" if value is None else f"{value:.2f}" for value in its.values())))
    lines += ["", "What differs from the paper:", "", *(f"- {sentence}" for sentence in DIFFERENCES)]
    if reasons := [cell for cell in cells if cell.reason]:
        lines += ["", "Without a figure of the board:", ""]
        lines += [f"- {cell.verdict}: {cell.column} {cell.row}: {cell.reason}" for cell in reasons]
    return "\n".join(lines) + "\n"


def _analytic(cell: Cost, batch: int) -> str:
    paper = PAPER_KB.get((batch, cell.row)) if cell.column == "fp32" else None
    return kilobytes(cell.analytic[batch]) + ("" if paper is None else f" ({paper:,.1f})")


def _share(cell: Cost, name: str, found: Mapping[str, float]) -> str:
    """Return a share of the time; the paper's figure 7 does not have Full BP."""
    paper = None if cell.row == "full-bp" else PAPER_SHARES.get((cell.column, name))
    return (f"{found[name]:.1%}" if found else "–") + (f" ({paper})" if paper else "")
