"""A scripted board, a clock that all share, and what the meters of this folder are compared with."""

from __future__ import annotations

import numpy as np

from hil.energy.capture import Capture
from hil.meters.meter import Host, Setting
from hil.standins.virtual.meter.errors import Flaws
from hil.standins.virtual.meter.truth import ScriptedTrace, VirtualTime

PS = 10**12
EXACT = Flaws(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
SETTING = Setting(volt=3.3, range_a=0.04, interval_s=0.001, idle_s=0.2, window_s=1.0)
ASLEEP, AWAKE = 0.010, 0.030


def board(
    time: VirtualTime, *, begin: float = 1.5, steps: int = 40, step_s: float = 0.025, pulses: bool = False, peak: float = AWAKE,
    rest: float = ASLEEP + 0.001,
) -> ScriptedTrace:  # fmt: skip
    """Return a board that sleeps, trains (each step awake for two thirds of it), and sleeps; the marker is high meanwhile, or pulses down."""
    times, levels = [0], [ASLEEP]
    for step in range(steps):
        at = begin + step * step_s
        times += [round(at * PS), round((at + step_s * 2 / 3) * PS)]
        levels += [peak, rest]
    end = begin + steps * step_s
    times, levels = [*times, round(end * PS)], [*levels, ASLEEP]
    down = [(round(at * PS) + late, level) for at in (begin, end) for late, level in ((0, 0), (PS // 10**6, 1))]
    edges = down if pulses else [(round(begin * PS), 1), (round(end * PS), 0)]
    return ScriptedTrace(time, np.array(times), np.array(levels), edges)


def true_energy(truth: ScriptedTrace) -> float:
    """Return the energy between the first and the last edge."""
    edges = [at for at, _ in truth._edges]
    begin, end = truth.charge(np.array([edges[0], edges[2] if len(edges) > 2 else edges[-1]]))
    return float(end - begin) * truth.volt()


def energy(capture: Capture) -> float:
    """Integrate readings that are means over their interval, the first and last prorated to the edges."""
    begin, end = (edge.t_s for edge in capture.edges)
    share = np.clip(np.minimum(capture.t_s + capture.interval_s, end) - np.maximum(capture.t_s, begin), 0, None)
    return float(np.sum(capture.power_w * share))


def host(time: VirtualTime, pump: object = None) -> Host:
    """Return the shared clock; whoever waits lets the instrument speak."""

    def sleep(seconds: float) -> None:
        time.sleep(seconds)
        if pump is not None:
            pump()  # type: ignore[operator]

    return Host(time.seconds, sleep)
