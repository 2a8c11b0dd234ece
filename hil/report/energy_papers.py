"""What two papers say of energy on the chip of a trial, beside what was found here: FQT, table II, and Poor Man's Training, tables 8 and 9.

FQT: Deutel, Hannig, Mutschler and Teich, "On-Device Training of Fully Quantized Deep Neural Networks on Cortex-M Microcontrollers". Poor Man's: Zhao, Li, Young
and Zhang, "Poor Man's Training on MCUs: A Memory-Efficient Quantized Back-Propagation-Free Approach" (the journal's version; the preprint has no energies).
"""

from __future__ import annotations

from dataclasses import dataclass

from hil.record import TrialRecord
from hil.report.formats import NO_BREAK, figure

IDLE_MA = {
    "rp2040": (31.24, "133 MHz"),
    "nrf52840": (7.27, "64 MHz"),
    "imxrt1062": (108.26, "600 MHz"),
}  # FQT, table II
TAKEN_FROM = ("rp2040",)  # stand-ins whose idle current is that of the table (hil/standins/virtual/boards)


@dataclass(frozen=True)
class Method:
    """A line of Poor Man's table 8 or 9.

    Attributes:
        table, name: where it stands.
        latency_ms: of an iteration.
        time_s, energy_kj: end to end.
        measured: whether the table marks it as measured; of the others some were projected.
    """

    table: int
    name: str
    latency_ms: float
    time_s: float
    energy_kj: float
    measured: bool

    @property
    def energy_j(self) -> float:
        """Energy of an iteration: end to end, times the share of the time that one takes."""
        return 1e3 * self.energy_kj * self.latency_ms / 1e3 / self.time_s

    @property
    def power_w(self) -> float:
        """Mean power."""
        return 1e3 * self.energy_kj / self.time_s


METHODS = {
    "stm32h7b3": (
        Method(8, "BP-free by TFLite", 428_496, 2.14e7, 4.24e4, False),
        Method(8, "BP-free by TinyEngine", 72_839, 3.64e6, 6.30e3, False),
    ),
    "stm32f746": (
        Method(9, "BP, sparse", 495, 2.48e4, 43.6, True),
        Method(9, "BP-free, sparse", 9_939, 4.97e5, 860.0, True),
    ),
}


@dataclass(frozen=True)
class EnergyRow:
    """One figure of a paper, what was found here with its path in the record, and what differs."""

    what: str
    paper: str
    here: str
    path: str
    differs: str


def energy_comparison(trial: TrialRecord) -> list[EnergyRow]:
    """Return the rows for the chip of a trial; none where no paper has it, or the trial measured no energy by step."""
    if trial.energy is None or not trial.energy.get("per"):
        return []
    return [*_idle(trial), *_iterations(trial)]


def _idle(trial: TrialRecord) -> list[EnergyRow]:
    told = IDLE_MA.get(trial.board)
    energy = trial.energy
    if told is None or energy is None:
        return []
    volt = energy["voltage"]["value"] if energy.get("voltage") else energy["meter"].get("supply_v")
    if not volt:
        return []
    power = energy["idle_power"]
    here = figure({"value": power["value"] / volt, "uncertainty": (power["uncertainty"] or 0.0) / volt, "unit": "A"})
    milliamperes, clock = told
    asleep = f"the paper: the whole board at {clock}, idle in a way that it does not describe; here: the core asleep between windows, {_place(trial)}"
    if trial.reality != "hardware":
        whence = "this very figure: nothing is confirmed by it" if trial.board in TAKEN_FROM else "assumed"
        asleep += f"; the stand-in's current asleep is {whence}"
    return [
        EnergyRow("current asleep (FQT, table II)", f"{milliamperes:g}{NO_BREAK}mA", here, "energy.idle_power", asleep)
    ]


def _iterations(trial: TrialRecord) -> list[EnergyRow]:
    energy = trial.energy
    assert energy is not None
    rows = []
    for method in METHODS.get(trial.board, ()):
        differs = (
            f"the paper: MCUNet, one sample an iteration, {method.latency_ms / 1e3:,.4g}{NO_BREAK}s each, mean power of the whole board by a USB power meter "
            f"times the time{'' if method.measured else ', not marked as measured'}; here: {trial.network}, {trial.batch} samples a step, {_place(trial)}"
        )
        name = f"{method.name} (Poor Man's, table {method.table})"
        rows.append(
            EnergyRow(
                f"energy of an iteration, gross: {name}", f"{method.energy_j:,.3g}{NO_BREAK}J", figure(energy["per"]["step"]["gross"]),
                "energy.per.step.gross", differs,
            )
        )  # fmt: skip
        rows.append(
            EnergyRow(
                f"power: {name}",
                f"{method.power_w:.3g}{NO_BREAK}W",
                figure(energy["active_power"]),
                "energy.active_power",
                "as above",
            )
        )
    return rows


def _place(trial: TrialRecord) -> str:
    """Say what was measured, and on what."""
    assert trial.energy is not None
    point = trial.energy["meter"].get("measuring_point") or "measuring point not told"
    return f"at: {point}" if trial.reality == "hardware" else f"on a {trial.reality} stand-in, no silicon"
