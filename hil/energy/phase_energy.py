"""Split the energy of a step into its phases, if the meter is fast enough.

The marker gives start and end of a window. The board counts the cycles of each phase in every step, and the order and
length of the stretches in one step. Laid out from the first edge, step after step, they divide the readings.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from hil.energy.capture import Capture
from hil.energy.data_sheet import CurrentRange, DataSheet
from hil.energy.integration import integrals
from hil.energy.uncertainty import Contribution, combined, effective_dof, rectangular
from hil.energy.window import Window, edges_of

FEWEST_READINGS = 10  # per stretch; with fewer, its two borders are a large part of it
SLOWER = 1.01  # times the reading interval: an edge found from readings is uncertain by one of them
CLOCKS = 0.02  # of a window: if board and meter differ by more, the count is not of this window
ENDLESS = 1e6  # degrees of freedom
Laps = Mapping[str, float]


class PhasesUnknown(Exception):
    """Nothing can be split. The reason is one sentence."""


@dataclass(frozen=True)
class Counted:
    """Times that the board counted in one window, in seconds of its own clock.

    Attributes:
        total_s: all steps.
        laps: seconds by phase, one mapping per step, for the first steps or for all.
        stretches: phase and seconds of each stretch of one step, in order.
        made: number of stretches of that step; more than in `stretches` if the firmware had no room for all.
    """

    total_s: float
    laps: tuple[Laps, ...]
    stretches: tuple[tuple[str, float], ...]
    made: int


@dataclass(frozen=True)
class Phase:
    """One phase of a step: net energy in joules, `power_w` its gross mean power, `seconds` and `stretches` per step."""

    energy: float
    power_w: float
    seconds: float
    stretches: int
    readings: float
    contributions: tuple[Contribution, ...]

    def to_json(self, provenance: str) -> dict[str, Any]:
        """Return the fields of results.json."""
        u, dof = combined(self.contributions), effective_dof(self.contributions)
        return {
            "energy": {"value": self.energy, "unit": "J", "uncertainty": u, "provenance": provenance},
            "power": {"value": self.power_w, "unit": "W", "uncertainty": u / self.seconds, "provenance": provenance},
            "seconds": self.seconds,
            "stretches": self.stretches,
            "readings_a_stretch": self.readings,
            "dof": round(dof, 1) if dof < ENDLESS else None,
            "budget": [
                {"source": one.source, "kind": one.kind, "standard_uncertainty": one.standard}
                for one in self.contributions
            ],
        }


def seconds_of(counted: Sequence[Counted]) -> dict[str, float]:
    """Return the mean time of each phase that occurs in a step, in the order of `laps`."""
    laps = [lap for one in counted for lap in one.laps]
    means = {phase: float(np.mean([lap[phase] for lap in laps])) for phase in (laps[0] if laps else {})}
    return {phase: mean for phase, mean in means.items() if mean > 0}


def unresolved(counted: Sequence[Counted], capture: Capture) -> dict[str, str]:
    """Return a sentence for each phase that is too short for the meter.

    Raises:
        PhasesUnknown: nothing can be split.
    """
    if not counted or not all(one.laps and one.stretches for one in counted):
        raise PhasesUnknown(
            "the firmware does not report when its phases were: "
            "it does not know the request 'stretches', or its method marks none."
        )
    if any(one.made > len(one.stretches) for one in counted):
        raise PhasesUnknown(
            f"a step has {counted[0].made} stretches of phases, and the firmware reports "
            f"{len(counted[0].stretches)}: choose a smaller batch."
        )
    edge_s = 2 * max(edge.half_s for edge in edges_of(capture))
    finest, what = (
        (edge_s, "an edge is uncertain by")
        if edge_s > SLOWER * capture.interval_s
        else (capture.interval_s, "a reading")
    )
    found = {}
    for phase, seconds in seconds_of(counted).items():
        stretches = _stretches(counted, phase)
        if seconds < FEWEST_READINGS * finest * stretches:
            several = f" in {stretches} stretches" if stretches > 1 else ""
            found[phase] = (
                f"the phase {phase!r} takes {1000 * seconds:.3g} ms a step{several} and {what} {1000 * finest:.3g} ms: "
                f"{FEWEST_READINGS} readings of each are needed."
            )
    return found


def _stretches(counted: Sequence[Counted], phase: str) -> int:
    return sum(name == phase for name, _ in counted[0].stretches)


def split(
    captures: Sequence[Capture], windows: Sequence[Window], counted: Sequence[Counted], sheet: DataSheet,
    used: CurrentRange, volt: float
) -> dict[str, Phase]:  # fmt: skip
    """Return the energy of every phase, even of those that are too short for the meter (`unresolved`).

    Args:
        captures, windows, counted: one each per window.
        sheet, used: data sheet of the meter and the range in use.
        volt: supply in volts.

    Raises:
        PhasesUnknown: board and meter disagree on the length of a window.
    """
    shares = [_of_window(*each) for each in zip(captures, windows, counted, strict=True)]
    aperture_s = captures[0].aperture_s
    noise = used.noise_a / math.sqrt(aperture_s) if aperture_s else used.noise_a
    steady = used.resolution_a / math.sqrt(12) * volt if noise < used.resolution_a / 2 else 0.0
    common = math.hypot(
        *map(rectangular, (used.gain, sheet.voltage_gain, sheet.voltage_offset_v / volt, sheet.timebase))
    )
    taken = float(np.mean([window.burden / window.net if window.net else 0.0 for window in windows]))  # at most
    share = windows[0].burden_share
    found = {}
    for phase, seconds in seconds_of(counted).items():
        energies = (1 - share * taken) * np.array([share.energy[phase] for share in shares])
        energy, n = float(energies.mean()), len(shares)
        border = float(np.mean([share.border_j[phase] for share in shares]))
        stretches = _stretches(counted, phase)
        found[phase] = Phase(
            energy,
            float(np.mean([share.power_w[phase] for share in shares])),
            seconds,
            stretches,
            seconds / stretches / captures[0].interval_s,
            (
                Contribution("gain, voltage and time base", "B", common * abs(energy)),
                Contribution("resolution, awake and asleep", "B", math.sqrt(2) * steady * seconds),
                Contribution(
                    f"burden voltage, {share:.0%} of the largest taken off",
                    "B",
                    rectangular(abs((1 - share) * taken * energy)),
                ),
                Contribution("borders of its stretches (limit)", "B", rectangular(border)),
                Contribution(
                    f"scatter of {n} windows", "A", float(energies.std(ddof=1)) / math.sqrt(n), n - 1, "scatter"
                ),
            ),
        )
    return found


def first_stretches(capture: Capture, counted: Counted, most: int) -> list[tuple[str, float]]:
    """Return phase and seconds of the first stretches of a window on the meter's clock, to draw them over a trace."""
    up, down = edges_of(capture)
    scale = (down.t_s - up.t_s) / counted.total_s
    return [(phase, scale * seconds) for phase, seconds in islice(_laid_out(counted), most)]


@dataclass(frozen=True)
class _Share:
    """Per step of one window, by phase: net energy, mean power, and limit of the energy's error by borders."""

    energy: dict[str, float]
    power_w: dict[str, float]
    border_j: dict[str, float]


def _of_window(capture: Capture, window: Window, counted: Counted) -> _Share:
    up, _ = edges_of(capture)
    scale = window.duration / counted.total_s
    if abs(scale - 1) > CLOCKS:
        raise PhasesUnknown(
            f"the board counted {counted.total_s:.6g} s of a window that took {window.duration:.6g} s "
            "by the meter's clock."
        )
    names, lengths = zip(*_laid_out(counted), strict=True)
    borders = up.t_s + scale * np.concatenate([[0.0], np.cumsum(lengths)])
    gross, seconds, phase = np.diff(integrals(capture, capture.power_w, borders)), np.diff(borders), np.array(names)
    steps, found = len(counted.laps), sorted(set(names))
    power = {name: float(gross[phase == name].sum() / seconds[phase == name].sum()) for name in found}
    jump = max(power.values()) - min(power.values())
    wide = max(edge.half_s for edge in edges_of(capture)) + capture.interval_s / 2 + scale * _largest_spread(counted)
    border = {name: 2 * _stretches([counted], name) * jump * wide for name in found}
    for name, place in ((names[0], 0), (names[-1], -1)):  # next to sleep, at the ends of the window
        border[name] += abs(power[phase[place]] - window.idle_power) * wide / steps
    net = {
        name: (float(gross[phase == name].sum()) - window.idle_power * float(seconds[phase == name].sum())) / steps
        for name in found
    }
    return _Share(net, power, border)


def _laid_out(counted: Counted) -> Iterator[tuple[str, float]]:
    """Yield phase and seconds of every stretch of the counted steps.

    The order is that of the reported step; the times are those of each step.
    """
    whole = {
        phase: sum(seconds for name, seconds in counted.stretches if name == phase) for phase, _ in counted.stretches
    }
    for lap in counted.laps:
        for phase, seconds in counted.stretches:
            yield phase, lap[phase] * seconds / whole[phase] if whole[phase] else 0.0


def _largest_spread(counted: Counted) -> float:
    """Return how far stretches may be from their place in the reported step: the largest spread of a phase's time."""
    return max(float(np.ptp([lap[phase] for lap in counted.laps])) for phase in counted.laps[0])
