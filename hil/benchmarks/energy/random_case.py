"""Draw the random parameters of a trial: load, sampling rate, windows, and instrument errors by its data sheet."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from hil.benchmarks.energy.simulated_board import LEAST_LEVEL, Load
from hil.energy.data_sheet import CurrentRange, DataSheet
from hil.standins.virtual.meter.errors import FlawLimits, Flaws

RATES_HZ = (10.0, 100_000.0)
STEPS_S = (0.2e-3, 3.0)
LONGEST_S = 10.0  # of a window, unless a step or the minimum number of readings takes longer
READINGS = (60, 500)  # in a window, log-uniform; more if a step is longer
POLLED_READINGS = (60, 200)  # for instruments that are polled for each reading, which is slow
MOST_READINGS = 4000  # in a step, to limit the run time: 100 kS/s would give 300,000 in a step of 3 s
SPREADS = (1e-4, 1e-2)  # relative, of the board's energy between windows
LARGEST_A = (0.005, 0.5)
LARGEST_SHARE = 0.85  # of a range, so that spread and gain error do not exceed it
IDLE_READINGS = 40  # as in a trial (hil/training/trial/energy.py)
MOST_LOST = 5e-4  # share of the readings; a driver discards a window with twice as many
VOLT = 3.3
# They choose the range of each sample. Gain and offset of their virtual instruments are given for the smallest range.
RANGES_ITSELF = ("ppk2-ampere", "ppk2-source")
APART = 1.05  # least current on a range, over the end of the range below
SAMPLED_HZ, SAMPLED_S = 500.0, 1.0  # slowest rate and longest window where 100,000 samples a second are made


@dataclass(frozen=True)
class RandomCase:
    """One trial."""

    load: Load  # current of the board
    used: CurrentRange  # of the meter
    interval_s: float  # between readings
    idle_s: float  # before and after a window
    steps: int  # in a window
    windows: int
    errors: Flaws  # of the instrument
    lost_share: float  # share of lost readings
    burden_ohm: float  # resistance of the instrument between supply and board


def draw(sheet: DataSheet, rng: np.random.Generator, beyond: float = 1.0, one_range: bool = True) -> RandomCase:
    """Draw a trial. Errors are uniform within `beyond` times the limits of the data sheet.

    With `one_range` the current of the board stays on one range, also if the meter could choose another.
    """
    largest_a = min(_log(rng, *LARGEST_A), LARGEST_SHARE * sheet.ranges[-1].amperes)
    used = sheet.range_for(largest_a / LARGEST_SHARE)
    itself = sheet.key in RANGES_ITSELF
    least_a = APART * max((each.amperes for each in sheet.ranges if each.amperes < used.amperes), default=0.0)
    if itself and one_range:
        largest_a = max(largest_a, least_a / LEAST_LEVEL)
    step_s, interval_s = _log(rng, *STEPS_S), 1 / _log(rng, *_rates(sheet))
    interval_s = max(interval_s, step_s / MOST_READINGS)
    readings = POLLED_READINGS if sheet.timestamps == "host" and sheet.marker == "none" else READINGS
    longest_s = max(SAMPLED_S if itself else LONGEST_S, readings[0] * interval_s)
    steps = max(1, round(min(_log(rng, *readings) * interval_s, longest_s) / step_s))
    load = Load.draw(rng, step_s, largest_a, _log(rng, *SPREADS), VOLT)
    if itself and one_range:
        load = replace(load, idle_a=max(load.idle_a, least_a))
    errors = Flaws.draw(limits(sheet, sheet.ranges[0] if itself else used), rng, beyond)
    # Other instruments lose a part of an overflowing buffer and report it; the window is then discarded.
    lost = float(rng.uniform(0, MOST_LOST)) if sheet.loss == "timestamps" and rng.random() < 0.5 else 0.0
    burden = used.burden_v / used.amperes * float(rng.uniform(0, 1)) * beyond
    windows = int(rng.choice([6, 6, 8, 12]))
    return RandomCase(load, used, interval_s, IDLE_READINGS * interval_s, steps, windows, errors, lost, burden)


def algorithm(sheet: DataSheet, rng: np.random.Generator) -> RandomCase:
    """Draw a trial without instrument errors and burden, at 1 kS/s if possible, over 10 s: the method's own error."""
    case = draw(sheet, rng)
    interval_s = max(1e-3, 1 / sheet.fastest_hz)
    load = replace(case.load, spread=0.0)
    return replace(
        case, load=load, used=replace(case.used, burden_v=0.0), interval_s=interval_s,
        idle_s=max(0.1, IDLE_READINGS * interval_s), steps=max(1, math.ceil(10 / load.step_s)), windows=6,
        errors=Flaws(*[0.0] * len(vars(case.errors))), lost_share=0.0, burden_ohm=0.0,
    )  # fmt: skip


def commensurate(sheet: DataSheet, rng: np.random.Generator) -> RandomCase:
    """Draw a step of 10 ms with a meter that is polled 100 times a second."""
    case, step_s = draw(sheet, rng), 0.01
    load = replace(case.load, step_s=step_s)
    return replace(case, load=load, interval_s=step_s, idle_s=IDLE_READINGS * step_s, steps=200, lost_share=0.0)


def limits(sheet: DataSheet, used: CurrentRange) -> FlawLimits:
    """Return the limits of error that a data sheet gives for one range."""
    voltage = sheet.voltage_gain, sheet.voltage_offset_v
    noise = used.noise_a, sheet.voltage_noise_v
    return FlawLimits(used.gain, used.offset_a, *voltage, sheet.timebase, *noise, used.drift_a_per_s)


def _rates(sheet: DataSheet) -> tuple[float, float]:
    least = SAMPLED_HZ if sheet.key in RANGES_ITSELF else RATES_HZ[0]
    slowest = max(least, 1 / sheet.apertures_s[1] if sheet.apertures_s[1] else 0.0)
    fastest = min(RATES_HZ[1], sheet.fastest_hz)
    return min(slowest, fastest), fastest


def _log(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(math.log(low), math.log(high))))
