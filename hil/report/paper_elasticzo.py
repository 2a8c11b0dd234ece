"""Figures of the ElasticZO paper (Sugiura and Matsutani; 4.3, 5.2 to 5.4, table 1) next to those of a trial."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hil.record import TrialRecord
from hil.report.formats import NO_BREAK, number, percent
from hil.report.paper_row import PaperFigure

# Table 1: accuracy in percent after 100 epochs of 50,000 images, batch 256, for INT8 and INT8*.
TABLE_1: dict[str, dict[str, tuple[float, float | None]]] = {
    "full-zo": {"mnist": (89.78, 88.92), "fashion-mnist": (73.98, 71.02)},
    "cls2": {"mnist": (94.34, 93.92), "fashion-mnist": (80.33, 77.93)},
    "cls1": {"mnist": (97.34, 95.83), "fashion-mnist": (84.66, 81.60)},
    "full-bp": {"mnist": (98.77, None), "fashion-mnist": (90.40, None)},
}
BATCH = 256
WEIGHTS_BY_ZO = {"cls1": 96_630, "cls2": 106_710, "full-zo": 107_550, "full-bp": 0}  # section 5.2, without biases


def elasticzo_rows(trial: TrialRecord) -> list[PaperFigure]:
    """Return the comparison of a trial of ElasticZO-INT8 on LeNet-5; empty for any other trial."""
    if trial.network != "lenet5" or trial.method != "elasticzo-int8" or trial.analytic is None:
        return []
    return [*_memory(trial, trial.analytic), *_shares(trial), *_signs(trial), *_accuracy(trial)]


def _memory(trial: TrialRecord, analytic: Mapping[str, Any]) -> list[PaperFigure]:
    here = "the paper keeps every activation of the batch; here buffers share memory by lifetime"
    if trial.settings.get("scope") == "sample":
        here += " and samples stream"
    peak = trial.sram["arena_peak"]
    in_use = "–" if peak is None else f"{number(peak, 'B')} of arena in use, {percent(peak / analytic['bytes'])} of it"
    return [
        PaperFigure(
            "weights by zeroth order", f"{WEIGHTS_BY_ZO[trial.variant]:,}", f"{analytic['weights_by_zo']:,}", "–"
        ),
        PaperFigure(f"training memory, equation {analytic['equation']}", number(analytic["bytes"], "B"), in_use, here),
    ]


def _shares(trial: TrialRecord) -> list[PaperFigure]:
    """Compare the shares of a step (figure 7), which the paper does not have for Full BP."""
    if not trial.cycles or not trial.cycles["total"] or trial.variant == "full-bp":
        return []
    backward = "< 2.5" if trial.variant in ("cls1", "cls2") else None
    shares = ((("forward",), "94.8–97.1"), (("backward",), backward), (("perturb", "update"), "1.0–1.2"))
    here = f"here cycles ({trial.cycles_provenance}), batch {trial.batch}"
    differs = f"{here}; the paper: wall time on a Raspberry Pi Zero 2, batch {BATCH}"
    rows = []
    for phases, paper in shares:
        if paper is not None:
            share = percent(sum(trial.cycles[phase] for phase in phases) / trial.cycles["total"])
            rows.append(PaperFigure(f"share of a step: {' and '.join(phases)}", f"{paper}{NO_BREAK}%", share, differs))
    return rows


def _signs(trial: TrialRecord) -> list[PaperFigure]:
    if trial.signs is None or not trial.signs["of"]:
        return []
    settings = f"batch {trial.batch}, r_max {trial.settings.get('r_max')}, {trial.signs['of']:,} steps"
    share = percent(trial.signs["right"] / trial.signs["of"])
    return [
        PaperFigure("right signs of INT8*", f"about 95{NO_BREAK}%", share, f"here {settings}; the paper: batch {BATCH}")
    ]


def _accuracy(trial: TrialRecord) -> list[PaperFigure]:
    kind = next((name for name in ("fashion-mnist", "mnist") if name in trial.data), None)
    if trial.accuracy["after"] is None or kind is None:
        return []
    integer = trial.settings.get("loss") == "integer"
    figure = TABLE_1[trial.variant][kind][integer]
    if figure is None:
        return []
    here = f"here {trial.steps_compared:,} steps of {trial.batch} on {trial.data}"
    differs = f"{here}; the paper: 100 epochs, batch {BATCH}"
    return [PaperFigure("accuracy, table 1", f"{figure:.2f}{NO_BREAK}%", percent(trial.accuracy["after"]), differs)]
