"""The costs of an iteration of MCUNet by Poor Man's Training, tables 8 and 9, next to those of a trial.

Zhao, Li, Young and Zhang, "Poor Man's Training on MCUs: A Memory-Efficient Quantized Back-Propagation-Free Approach",
section 5.
"""

from __future__ import annotations

from dataclasses import dataclass

from hil.record import TrialRecord
from hil.report.formats import NO_BREAK, number, seconds
from hil.report.paper_row import PaperFigure

POINTWISE = ("pointwise", "pointwise-last")  # values of the setting `train` with the pointwise layers of the blocks


@dataclass(frozen=True)
class PublishedCost:
    """A row of table 8 or 9."""

    table: int
    memory_kb: int  # peak memory of training
    mmacs: float  # multiply-accumulates of an iteration, in millions
    latency_ms: int  # of an iteration; in table 8 with TFLite as the backend


FULL = {"zeroth": PublishedCost(8, 668, 7857.5, 428_496), "bp": PublishedCost(8, 3650, 76.2, 13_398)}
SPARSE = {"zeroth": PublishedCost(9, 209, 1162.5, 9_939), "bp": PublishedCost(9, 3650, 40.4, 495)}
METHODS = {"poor-mans-training": "zeroth", "int8-bp": "bp", "mcutrain": "bp"}


def pmt_rows(trial: TrialRecord) -> list[PaperFigure]:
    """Return the comparison of an iteration of MCUNet; empty for any other network or method."""
    if not trial.network.startswith("mcunet") or trial.method not in METHODS or not trial.steps_compared:
        return []
    cost = (SPARSE if trial.settings["train"] in POINTWISE else FULL)[METHODS[trial.method]]
    return [_memory(trial, cost), *_work(trial, cost), *_latency(trial, cost)]


def _memory(trial: TrialRecord, cost: PublishedCost) -> PaperFigure:
    planned, total = number(trial.sram["planned"], "B"), number(trial.sram["total"], "B")
    here = f"{total} of static data, arena and stack in use (counted); {planned} of arena planned"
    return PaperFigure(f"peak memory, table {cost.table}", f"{cost.memory_kb:,}{NO_BREAK}KB", here, _setting(trial))


def _work(trial: TrialRecord, cost: PublishedCost) -> list[PaperFigure]:
    if trial.work is None or trial.analytic is None:
        return []
    executed, planned = trial.work["macs"] / 1e6, trial.analytic["macs_step"] / 1e6
    here = f"{executed:,.1f}{NO_BREAK}M executed (counted); {planned:,.1f}{NO_BREAK}M planned"
    differs = _setting(trial)
    if cost is FULL["zeroth"]:
        differs = (
            "the paper's figure of the full model is that of about 14 layers with Q = 50; here every trained layer has "
            "its queries"
        )
    what = f"multiply-accumulates of an iteration, table {cost.table}"
    return [PaperFigure(what, f"{cost.mmacs:,}{NO_BREAK}M", here, differs)]


def _latency(trial: TrialRecord, cost: PublishedCost) -> list[PaperFigure]:
    if not trial.cycles or trial.step_time_s is None:
        return []
    time = f"{seconds(trial.step_time_s)} at the board's clock ({trial.cycles_provenance})"
    here = f"{number(trial.cycles['total'])} cycles, {time}"
    sparse, full = "underlined as measured on an STM32F746", "not marked as measured, TFLite as the backend"
    differs = f"the paper: {sparse if cost.table == 9 else full}; here {trial.board}, {trial.reality}"
    return [PaperFigure(f"an iteration, table {cost.table}", seconds(cost.latency_ms / 1e3), here, differs)]


def _setting(trial: TrialRecord) -> str:
    queries = "" if METHODS[trial.method] == "bp" else f", Q = {trial.settings['queries']}"
    here = f"here {trial.network}, {trial.batch} a step{queries}, variant {trial.variant}"
    return f"the paper: MCUNet of 1,000 classes, one sample, Q = 50; {here}"
