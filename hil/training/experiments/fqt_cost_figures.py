"""Figures 4b, 5, 6d, 7b and 9 of FQT: which cases they have, and their files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hil.training.experiments import cost_files
from hil.training.experiments.fqt_costs import (
    IDLE_MA,
    SPEEDUP,
    Cost,
    Figure,
    RunTrial,
    analysed,
    full,
    mcunet,
    measured,
    sparse,
    speedups,
    transfer,
)
from hil.training.experiments.fqt_costs_page import as_markdown
from hil.training.experiments.paper import paper

IMXRT1062, BOARDS = "imxrt1062", tuple(IDLE_MA)
CIFAR10 = str(paper("fqt").experiments["fqt-figure4"].sentences["cifar10"])
TIME_SERIES = ("vibration", "watch")
COMMON = (
    "Latency is that of steps of one sample; `update` is that of a step divided by the 48 samples of a batch. Energy "
    "is that of steps of 48 samples, divided by 48.",
    "Data sets of one network cost the same, so one of them stands for all.",
    "The clocks are those of docs/boards; the paper has 133, 64 and 600 MHz.",
)
FIGURES: Mapping[str, Figure] = {
    "fqt-figure4": Figure("Latency of transfer learning (figure 4b)", transfer, (IMXRT1062,), differences=COMMON),
    "fqt-figure5": Figure(
        "Transfer learning on three boards (figure 5)", lambda on: transfer(on, TIME_SERIES), BOARDS, True,
        (*COMMON, "`vibration` (SYNTHETIC) stands in for CWRU, `watch` for DaLiAc."),
    ),
    "fqt-figure6": Figure(
        "Cost of sparse updates (figure 6d)", sparse, (IMXRT1062,),
        differences=(*COMMON, "lambda_min and lambda_max are the same here, so every sample takes this share of the "
                     "channels; the mean over a whole training is in table.md.",),
    ),
    "fqt-figure7": Figure(
        "Full training on three boards (figure 7b)", full, BOARDS, True,
        (*COMMON, "Images of Fashion-MNIST, which have the size of EMNIST's digits."),
    ),
    "fqt-figure9": Figure(
        "mbednet beside MCUNet-5FPS (figure 9)", mcunet, (IMXRT1062,),
        differences=(*COMMON, "Fashion-MNIST in the place of CIFAR-10.", CIFAR10,
                     "With the last two blocks (last 7) MCUNet fits no board here: gradients have 4 bytes a weight. "
                     "Its head alone (last 1) shows what a forward pass costs.",),
    ),
}  # fmt: skip


def write_costs(
    name: str, on: Sequence[str], out: Path, steps: int, run_trial: RunTrial, say: Callable[[str], None],
    facts: Mapping[str, Any],
) -> bool:  # fmt: skip
    """Measure every case of a figure, and write costs.json and costs.md after each; return whether no trial failed."""
    figure = FIGURES[name]
    costs = [analysed(case) for case in figure.cases(on or figure.boards)]
    _write(name, costs, out, facts)
    for place, cost in enumerate(costs):
        costs[place] = measured(cost, steps, figure.energy, run_trial, out / "trials" / cost.case.name)
        say(f"{costs[place].verdict}: {cost.case.name}")
        _write(name, costs, out, facts)
    return not any(cost.verdict == "fail" for cost in costs)


def _write(name: str, costs: Sequence[Cost], out: Path, facts: Mapping[str, Any]) -> None:
    whole = {
        "experiment": name, "facts": dict(facts), "costs": [asdict(cost) for cost in costs],
        "speedups": {network: {f"{share:g}": one for share, one in its.items()} for network, its in
                     speedups(costs).items()},
        "paper_speedup": SPEEDUP, "differences": list(FIGURES[name].differences),
        "provenance": {"memory": "analytic", "planned": "analytic", "watermark": "counted"},
    }  # fmt: skip
    cost_files.write(out, whole, as_markdown(FIGURES[name], costs))
