"""Integrate a capture between two edges of the marker: energy, charge, mean and extreme power, and their uncertainty.

Readings may come in pieces, so a window of any length needs only the memory of two pieces.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hil.energy.capture import Capture, Edge, joined, tail
from hil.energy.conditions import Conditions, rows
from hil.energy.current_ranges import peak_current
from hil.energy.data_sheet import DataSheet
from hil.energy.integration import cells, integral
from hil.energy.uncertainty import SMOOTHING, Contribution, rectangular
from hil.energy.window import SWING, current_of
from hil.errors import Blocked

HELD = 16  # readings kept from the last piece: for the bound between two pieces, and for both sides of an edge
EXACT = Conditions(supply_error=0.0)
RESOLUTION = "resolution of the numbers"
NEAR_EDGE = 2  # intervals on each side of an edge that are searched for its step of power


@dataclass(frozen=True)
class MarkerInterval:
    """Sums and statistics between two edges, in SI units.

    Attributes:
        begin, end: the edges.
        energy_j: energy.
        charge_c, voltage_v: charge and mean voltage; NaN if the meter does not report them.
        square_a2s: integral of the squared current; NaN if the meter does not report a current.
        lowest_w, highest_w: lowest and highest reading.
        readings: number of readings, including those that lie only partly between the edges.
        steps_w: for each edge, largest minus smallest power near it: the error of the power if the edge is off.
        aperture_s, range_a: as in Capture.
        lost: missing readings of the whole capture.
        synchronisation: how the edges were found.
        changes: number of changes of the marker; the first two are the edges.
        notes: reservations about the readings, one sentence each.
        peak_a: largest current of any reading, between the edges or outside.
        unseen_s, smoothed_j, resolution_j: as in Capture, of the whole capture.
    """

    begin: Edge
    end: Edge
    energy_j: float
    charge_c: float
    voltage_v: float
    square_a2s: float
    lowest_w: float
    highest_w: float
    readings: int
    steps_w: tuple[float, float]
    aperture_s: float
    range_a: float
    lost: int | None
    synchronisation: str
    changes: int
    notes: tuple[str, ...] = ()
    peak_a: float = 0.0
    unseen_s: float = 0.0
    smoothed_j: float = 0.0
    resolution_j: float = 0.0

    @property
    def duration_s(self) -> float:
        """Time from edge to edge."""
        return self.end.t_s - self.begin.t_s


class IntervalSums:
    """Integrates between the first two edges from the pieces of a capture, in order, in the memory of two pieces.

    An edge comes with the piece that holds the first reading after it, or earlier. The result equals `integral` of the
    whole.
    """

    def __init__(self) -> None:
        self._edges: list[Edge] = []
        self._last: Capture | None = None
        self._from_s = self._reached_s = math.nan
        self._energy = self._charge = self._square = self._volts = 0.0
        self._notes: dict[str, None] = {}
        self._readings, self._peak_a = 0, 0.0
        self._unseen_s = self._smoothed_j = self._resolution_j = 0.0
        self._lost: int | None = 0
        self._lowest, self._highest = math.inf, -math.inf
        # For each edge, the lowest and highest power near it in each piece.
        self._near_edges: tuple[list[float], list[float]] = ([], [])

    def add(self, piece: Capture) -> None:
        """Add the next piece. The time after its last reading is integrated with the next piece."""
        if any(edge.t_s < self._reached_s for edge in piece.edges):
            raise ValueError("an edge came after readings that lie after it")
        self._edges += piece.edges
        self._lost = None if self._lost is None or piece.lost is None else self._lost + piece.lost
        self._unseen_s += piece.unseen_s
        self._smoothed_j += piece.smoothed_j
        self._resolution_j += piece.resolution_j
        self._notes |= dict.fromkeys(piece.notes)
        if not len(piece.t_s):
            return
        self._peak_a = max(self._peak_a, peak_current(current_of(piece)))
        first = self._last is None
        seen = piece if self._last is None else joined([self._last, piece])
        bounds = cells(seen) if seen.aperture_s else seen.t_s
        if first:
            self._from_s = self._reached_s = float(bounds[0])
        self._look_near_edges(seen)
        self._integrate(seen, float(bounds[-2]) if seen.aperture_s else float(bounds[-1]))
        self._last = tail(seen, HELD)

    def result(self) -> MarkerInterval:
        """Return the sums between the edges. No further piece may be added.

        Raises:
            Blocked: there are fewer than two edges, they are out of order, or the readings do not cover the time
                between them.
        """
        if len(self._edges) < 2:
            count = len(self._edges)
            raise Blocked("energy", f"the marker changed {count} times: let it change at the start and at the end.")
        (begin, end), last = self._edges[:2], self._last
        if end.t_s <= begin.t_s:
            raise Blocked(
                "energy", f"the edge at {end.t_s:g} s is not after {begin.t_s:g} s: choose two edges in order."
            )
        reach = -math.inf if last is None else float(cells(last)[-1] if last.aperture_s else last.t_s[-1])
        slack = 1e-9 * max(1.0, abs(end.t_s))
        if last is None or self._from_s > begin.t_s + slack or reach < end.t_s - slack:
            raise Blocked(
                "energy",
                f"the readings do not reach from {begin.t_s:g} s to {end.t_s:g} s: "
                "let the meter begin earlier and end later.",
            )
        if self._reached_s < reach:
            self._integrate(last, reach)
        steps = [max(near) - min(near) if len(near) > 1 else self._highest for near in self._near_edges]
        return MarkerInterval(
            begin, end, self._energy, self._charge, self._volts / self._readings if self._readings else math.nan,
            self._square, self._lowest, self._highest, self._readings, (steps[0], steps[1]), last.aperture_s,
            last.range_a, self._lost, last.synchronisation, len(self._edges), tuple(self._notes),
            self._peak_a, self._unseen_s, self._smoothed_j, self._resolution_j,
        )  # fmt: skip

    def _integrate(self, seen: Capture, reach_s: float) -> None:
        """Continue the sums up to `reach_s`, as far as that lies between the edges."""
        before, self._reached_s = self._reached_s, reach_s
        if not self._edges:
            return
        begin_s = max(before, self._edges[0].t_s)
        end_s = min(reach_s, self._edges[1].t_s) if len(self._edges) > 1 else reach_s
        if end_s <= begin_s:
            return
        self._energy += integral(seen, seen.power_w, begin_s, end_s)
        self._charge += integral(seen, seen.current_a, begin_s, end_s)
        self._square += integral(seen, seen.current_a**2, begin_s, end_s)
        if seen.aperture_s:
            bounds = cells(seen)
            inside = (bounds[1:] > begin_s) & (bounds[:-1] < end_s)
            power = seen.power_w[inside]
            fresh = inside & (bounds[:-1] >= before)  # the others were counted with the previous piece
        else:
            fresh = inside = (seen.t_s > begin_s) & (seen.t_s < end_s)
            power = np.concatenate([seen.power_w[inside], np.interp([begin_s, end_s], seen.t_s, seen.power_w)])
            fresh |= (seen.t_s == begin_s) & (begin_s == before)
        self._lowest, self._highest = min(self._lowest, float(power.min())), max(self._highest, float(power.max()))
        self._readings += int(np.sum(fresh))
        self._volts += float(np.sum(seen.voltage_v[fresh]))

    def _look_near_edges(self, seen: Capture) -> None:
        for place, edge in enumerate(self._edges[:2]):
            near = np.abs(seen.t_s + seen.aperture_s / 2 - edge.t_s) <= edge.half_s + NEAR_EDGE * seen.interval_s
            power = seen.power_w[near]
            if len(power):
                self._near_edges[place].extend([float(power.min()), float(power.max())][: len(power)])


def burden_j(found: MarkerInterval, sheet: DataSheet) -> tuple[float, float]:
    """Return the energy that the meter itself consumed by its data sheet, and its error limit, in joules.

    Both are 0 if the meter reports no current or has no burden.
    """
    used = sheet.range_for(found.range_a)
    most = used.burden_ohm * (1 + SWING) * found.square_a2s if math.isfinite(found.square_a2s) else 0.0
    return used.burden_share * most, (1 - used.burden_share) * most


def interval_budget(
    found: MarkerInterval, sheet: DataSheet, conditions: Conditions = EXACT, *, voltage_read: bool = True
) -> list[Contribution]:
    """Return the contributions to the standard uncertainty of the energy between two edges, in joules.

    The energy is that of the board, without the meter's own consumption (`burden_j`). Error limits are rectangular
    (GUM, 4.3.7). The noise of the current is white: the mean over a time T scatters by noise / sqrt(T).

    Args:
        found: sums between the edges.
        sheet: data sheet of the meter.
        conditions: supply and room.
        voltage_read: whether the power comes from voltages that the meter read.
    """
    used = sheet.range_for(found.range_a)
    taken, unknown = burden_j(found, sheet)
    t, e = found.duration_s, abs(found.energy_j - taken)
    q = abs(found.charge_c) if math.isfinite(found.charge_c) else 0.0
    volt = e / q if q else found.voltage_v if math.isfinite(found.voltage_v) else 1.0
    edges = [
        rectangular(edge.half_s) * step for edge, step in zip((found.begin, found.end), found.steps_w, strict=True)
    ]
    highest = max(abs(found.lowest_w), abs(found.highest_w))
    unseen = Contribution("samples lost by the host's clock", "B", rectangular(found.unseen_s * highest))
    return [
        Contribution("current gain", "B", rectangular(used.gain) * e),
        Contribution("current offset", "B", rectangular(used.offset_a) * volt * t),
        Contribution("current resolution", "B", used.resolution_a / math.sqrt(12) * volt * t),
        Contribution("current noise", "B", used.noise_a * volt * math.sqrt(t)),
        Contribution("current drift", "B", rectangular(used.drift_a_per_s) * volt * t * t / 2),
        Contribution("voltage gain", "B", rectangular(sheet.voltage_gain) * e),
        Contribution("voltage offset", "B", rectangular(sheet.voltage_offset_v) * q),
        Contribution("time base", "B", rectangular(sheet.timebase) * e),
        *rows(conditions, sheet, e, e, voltage_read=voltage_read),
        Contribution(f"burden voltage, {used.burden_share:.0%} of the largest taken off", "B", rectangular(unknown)),
        Contribution("both edges", "B", math.hypot(*edges)),
        *([unseen] if found.unseen_s else []),
        *([Contribution(SMOOTHING, "B", rectangular(found.smoothed_j))] if found.smoothed_j else []),
        *([Contribution(RESOLUTION, "B", found.resolution_j)] if found.resolution_j else []),
    ]
