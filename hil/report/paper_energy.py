"""Energies from two papers for the chip of a trial: FQT, table II, and Poor Man's Training, tables 8 and 9.

FQT: Deutel, Hannig, Mutschler and Teich, "On-Device Training of Fully Quantized Deep Neural Networks on Cortex-M
Microcontrollers". Poor Man's: Zhao, Li, Young and Zhang, "Poor Man's Training on MCUs: A Memory-Efficient Quantized
Back-Propagation-Free Approach" (the journal version; the preprint has no energies).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hil.record import TrialRecord
from hil.report.formats import NO_BREAK, figure
from hil.report.paper_row import PaperFigure

# FQT, table II
IDLE_MA = {"rp2040": (31.24, "133 MHz"), "nrf52840": (7.27, "64 MHz"), "imxrt1062": (108.26, "600 MHz")}
FROM_TABLE = ("rp2040",)  # stand-ins whose idle current is that of the table (hil/standins/virtual/boards)


@dataclass(frozen=True)
class MethodRow:
    """A row of Poor Man's table 8 or 9."""

    table: int
    name: str
    latency_ms: float  # of an iteration
    time_s: float  # of the whole training
    energy_kj: float  # of the whole training
    measured: bool  # whether the table marks it as measured; some of the others are projections

    @property
    def energy_j(self) -> float:
        """Energy of an iteration: that of the whole training times the iteration's share of the time."""
        return 1e3 * self.energy_kj * self.latency_ms / 1e3 / self.time_s

    @property
    def power_w(self) -> float:
        """Mean power."""
        return 1e3 * self.energy_kj / self.time_s


METHODS = {
    "stm32h7b3": (
        MethodRow(8, "BP-free by TFLite", 428_496, 2.14e7, 4.24e4, False),
        MethodRow(8, "BP-free by TinyEngine", 72_839, 3.64e6, 6.30e3, False),
    ),
    "stm32f746": (
        MethodRow(9, "BP, sparse", 495, 2.48e4, 43.6, True),
        MethodRow(9, "BP-free, sparse", 9_939, 4.97e5, 860.0, True),
    ),
}


def energy_comparison(trial: TrialRecord) -> list[PaperFigure]:
    """Return the rows for the chip of a trial; empty if no paper has it, or the trial has no energy by step."""
    energy: Mapping[str, Any] = trial.energy or {}
    return [*_idle(trial, energy), *_iterations(trial, energy)] if energy.get("per") else []


def _idle(trial: TrialRecord, energy: Mapping[str, Any]) -> list[PaperFigure]:
    volt = energy["voltage"]["value"] if energy.get("voltage") else energy["meter"].get("supply_v")
    if trial.board not in IDLE_MA or not volt:
        return []
    milliamperes, clock = IDLE_MA[trial.board]
    power = energy["idle_power"]
    here = figure({"value": power["value"] / volt, "uncertainty": (power["uncertainty"] or 0.0) / volt, "unit": "A"})
    asleep = (
        f"the paper: the whole board at {clock}, in an idle mode that it does not describe; here: the core asleep "
        f"between windows, {_place(trial, energy)}"
    )
    if trial.reality != "hardware":
        source = "this very figure: nothing is confirmed by it" if trial.board in FROM_TABLE else "assumed"
        asleep += f"; the stand-in's current asleep is {source}"
    paper = f"{milliamperes:g}{NO_BREAK}mA"
    return [PaperFigure("current asleep (FQT, table II)", paper, here, asleep, "energy.idle_power")]


def _iterations(trial: TrialRecord, energy: Mapping[str, Any]) -> list[PaperFigure]:
    rows = []
    for method in METHODS.get(trial.board, ()):
        differs = (
            f"the paper: MCUNet, one sample an iteration, {method.latency_ms / 1e3:,.4g}{NO_BREAK}s each, "
            "mean power of the whole board by a USB power meter times the time"
            f"{'' if method.measured else ', not marked as measured'}; "
            f"here: {trial.network}, {trial.batch} samples a step, {_place(trial, energy)}"
        )
        name = f"{method.name} (Poor Man's, table {method.table})"
        joule, watt = f"{method.energy_j:,.3g}{NO_BREAK}J", f"{method.power_w:.3g}{NO_BREAK}W"
        gross, power = figure(energy["per"]["step"]["gross"]), figure(energy["active_power"])
        rows += [
            PaperFigure(f"energy of an iteration, gross: {name}", joule, gross, differs, "energy.per.step.gross"),
            PaperFigure(f"power: {name}", watt, power, "as above", "energy.active_power"),
        ]
    return rows


def _place(trial: TrialRecord, energy: Mapping[str, Any]) -> str:
    """Return where the power was measured."""
    point = energy["meter"].get("measuring_point") or "measuring point unknown"
    return f"at: {point}" if trial.reality == "hardware" else f"on a {trial.reality} stand-in, no silicon"
