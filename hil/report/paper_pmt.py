"""What Poor Man's Training says an iteration of MCUNet costs, beside what was found here: its tables 8 and 9.

Zhao, Li, Young and Zhang, "Poor Man's Training on MCUs: A Memory-Efficient Quantized Back-Propagation-Free Approach", section 5.
"""

from __future__ import annotations

from dataclasses import dataclass

from hil.record import TrialRecord
from hil.report.formats import NO_BREAK, number, seconds
from hil.report.row import Row


@dataclass(frozen=True)
class Cost:
    """A line of table 8 or 9.

    Attributes:
        table: where it stands.
        memory_kb: peak of training.
        mmacs: millions of multiply-accumulates of an iteration.
        latency_ms: of an iteration, with TFLite as the backend in table 8.
    """

    table: int
    memory_kb: int
    mmacs: float
    latency_ms: int


FULL = {"zeroth": Cost(8, 668, 7857.5, 428_496), "bp": Cost(8, 3650, 76.2, 13_398)}
SPARSE = {"zeroth": Cost(9, 209, 1162.5, 9_939), "bp": Cost(9, 3650, 40.4, 495)}
METHODS = {"poor-mans-training": "zeroth", "int8-bp": "bp", "mcutrain": "bp"}


def pmt_rows(trial: TrialRecord) -> list[Row]:
    """Return the rows that an iteration of MCUNet can be held against; empty for any other network or method."""
    if not trial.network.startswith("mcunet") or trial.method not in METHODS or not trial.steps_compared:
        return []
    cost = (SPARSE if trial.settings["train"] == "pointwise" else FULL)[METHODS[trial.method]]
    return [_memory(trial, cost), *_work(trial, cost), *_latency(trial, cost)]


def _memory(trial: TrialRecord, cost: Cost) -> Row:
    planned, total = number(trial.sram["planned"], "B"), number(trial.sram["total"], "B")
    here = f"{total} of static data, arena and stack in use (counted); {planned} of arena planned"
    return Row(f"peak memory, table {cost.table}", f"{cost.memory_kb:,}{NO_BREAK}KB", here, _setting(trial))


def _work(trial: TrialRecord, cost: Cost) -> list[Row]:
    if trial.work is None or trial.analytic is None:
        return []
    here = f"{trial.work['macs'] / 1e6:,.1f}{NO_BREAK}M executed (counted); {trial.analytic['macs_step'] / 1e6:,.1f}{NO_BREAK}M planned"
    differs = "the paper's figure of the full model is that of about 14 layers with Q = 50; here every trained layer has its queries"
    paper = f"{cost.mmacs:,}{NO_BREAK}M"
    return [
        Row(
            f"multiply-accumulates of an iteration, table {cost.table}",
            paper,
            here,
            differs if cost is FULL["zeroth"] else _setting(trial),
        )
    ]


def _latency(trial: TrialRecord, cost: Cost) -> list[Row]:
    if not trial.cycles or trial.step_time_s is None:
        return []
    here = f"{number(trial.cycles['total'])} cycles, {seconds(trial.step_time_s)} at the board's clock ({trial.cycles_provenance})"
    differs = (
        "the paper: underlined as measured on an STM32F746"
        if cost.table == 9
        else "the paper: not marked as measured, TFLite as the backend"
    )
    return [
        Row(
            f"an iteration, table {cost.table}",
            seconds(cost.latency_ms / 1e3),
            here,
            f"{differs}; here {trial.board}, {trial.reality}",
        )
    ]


def _setting(trial: TrialRecord) -> str:
    queries = "" if METHODS[trial.method] == "bp" else f", Q = {trial.settings['queries']}"
    return f"the paper: MCUNet of 1,000 classes, one sample, Q = 50; here {trial.network}, {trial.batch} a step{queries}, variant {trial.variant}"
