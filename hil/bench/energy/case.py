"""What a trial of the benchmark is drawn from: board, rate, windows, and the errors of one instrument, from its data sheet and a seed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from hil.bench.energy.scene import Load
from hil.measure.data_sheet import CurrentRange, DataSheet
from hil.standins.virtual.meter.errors import Errors, Limits

RATES_HZ = (10.0, 100_000.0)
STEPS_S = (0.2e-3, 3.0)
LONGEST_S = 10.0  # of a window, unless a step or the fewest readings take longer
READINGS = (60, 500)  # of a window, log-uniform; more where a step is longer
ASKED_FOR = (60, 200)  # where each is a question of its own, or nearly: a thousand trials are to end
MOST_READINGS = (
    4000  # of a step: an instrument of 100 kS/s has 300,000 of a step of 3 s, and a thousand trials are to end
)
SPREADS = (1e-4, 1e-2)  # of the board's own energy from window to window
LARGEST_A = (0.005, 0.5)
LARGEST_SHARE = 0.85  # of a range: a window whose energy is spread, read with a gain that is drawn from outside the data sheet, is beyond it else
IDLE_READINGS = 40  # as in a trial (hil/trial/energy.py)
MOST_LOST = 5e-4  # share of the readings; half of what makes a driver throw the window away
VOLT = 3.3


@dataclass(frozen=True)
class Case:
    """One trial.

    Attributes:
        load: of the board.
        used: range of the meter.
        interval_s, idle_s: how it is set.
        steps, windows: steps in a window, and windows.
        errors: of the instrument.
        lost_share: of its readings, where it loses any.
        burden_ohm: of the instrument, between supply and board.
    """

    load: Load
    used: CurrentRange
    interval_s: float
    idle_s: float
    steps: int
    windows: int
    errors: Errors
    lost_share: float
    burden_ohm: float


def draw(sheet: DataSheet, rng: np.random.Generator, beyond: float = 1.0) -> Case:
    """Draw a trial; errors uniform within the limits of the data sheet times `beyond`."""
    largest_a = min(_log(rng, *LARGEST_A), LARGEST_SHARE * sheet.ranges[-1].amperes)
    used = sheet.range_for(largest_a / LARGEST_SHARE)
    step_s, interval_s = _log(rng, *STEPS_S), 1 / _log(rng, *_rates(sheet))
    interval_s = max(interval_s, step_s / MOST_READINGS)
    readings = ASKED_FOR if sheet.timestamps == "host" and sheet.marker == "none" else READINGS
    steps = max(1, round(min(_log(rng, *readings) * interval_s, max(LONGEST_S, readings[0] * interval_s)) / step_s))
    load = Load.draw(rng, step_s, largest_a, _log(rng, *SPREADS), VOLT)
    errors = Errors.draw(limits(sheet, used), rng, beyond)
    # Others lose a stretch of a buffer that was left alone, and say so: the window is thrown away.
    lost = float(rng.uniform(0, MOST_LOST)) if sheet.loss == "timestamps" and rng.random() < 0.5 else 0.0
    burden = used.burden_v / used.amperes * float(rng.uniform(0, 1)) * beyond
    return Case(
        load, used, interval_s, IDLE_READINGS * interval_s, steps, int(rng.choice([6, 6, 8, 12])), errors, lost, burden
    )


def algorithm(sheet: DataSheet, rng: np.random.Generator) -> Case:
    """Draw a trial of an instrument without errors or burden, at 1 kS/s (or what it can) over 10 s: what is left is the evaluation's own error."""
    case = draw(sheet, rng)
    interval_s = max(1e-3, 1 / sheet.fastest_hz)
    load = replace(case.load, spread=0.0)
    return replace(
        case, load=load, used=replace(case.used, burden_v=0.0), interval_s=interval_s, idle_s=max(0.1, IDLE_READINGS * interval_s),
        steps=max(1, math.ceil(10 / load.step_s)), windows=6,
        errors=Errors(*[0.0] * len(vars(case.errors))), lost_share=0.0, burden_ohm=0.0,
    )  # fmt: skip


def commensurate(sheet: DataSheet, rng: np.random.Generator) -> Case:
    """Draw a step of 10 ms under a meter that is asked 100 times a second."""
    case, step_s = draw(sheet, rng), 0.01
    load = replace(case.load, step_s=step_s)
    return replace(case, load=load, interval_s=step_s, idle_s=IDLE_READINGS * step_s, steps=200, lost_share=0.0)


def limits(sheet: DataSheet, used: CurrentRange) -> Limits:
    """Return the limits of error that a data sheet gives for one range."""
    return Limits(
        used.gain,
        used.offset_a,
        sheet.voltage_gain,
        sheet.voltage_offset_v,
        sheet.timebase,
        used.noise_a,
        sheet.voltage_noise_v,
        used.drift_a_per_s,
    )


def _rates(sheet: DataSheet) -> tuple[float, float]:
    slowest = max(RATES_HZ[0], 1 / sheet.apertures_s[1] if sheet.apertures_s[1] else 0.0)
    fastest = min(RATES_HZ[1], sheet.fastest_hz)
    return min(slowest, fastest), fastest


def _log(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(math.log(low), math.log(high))))
