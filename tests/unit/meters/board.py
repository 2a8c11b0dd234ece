"""A board that lives in virtual time and a meter that reads it through the real PyVISA: what tests of drivers share."""

from __future__ import annotations

import contextlib

import numpy as np

from hil.meters.meter import Host, Setting
from hil.standins.virtual.meter.errors import Flaws
from hil.standins.virtual.meter.server import InstrumentServer
from hil.standins.virtual.meter.truth import ScriptedTrace, VirtualTime
from hil.visa import VisaSession

SECOND = 10**12
NO_ERRORS = Flaws(0, 0, 0, 0, 0, 0, 0, 0)
IDLE_S, AWAKE_A, ASLEEP_A, VOLT = 0.1, 0.06, 0.02, 3.3


class Board:
    """It sleeps, raises the marker at `rise_s`, is busy in turns of `turn_s`, lowers it after `busy_s`, and sleeps."""

    def __init__(
        self, rise_s: float = 0.2034567, busy_s: float = 0.5056789, turn_s: float = 0.01, awake_a: float = AWAKE_A
    ) -> None:
        self.time = VirtualTime()
        turns = np.arange(rise_s, rise_s + busy_s, turn_s)
        times = np.concatenate([[0.0], turns, turns + 0.7 * turn_s, [rise_s + busy_s]])
        levels = np.concatenate(
            [[ASLEEP_A], np.full(len(turns), awake_a), np.full(len(turns), 0.6 * awake_a), [ASLEEP_A]]
        )
        order = np.argsort(times, kind="stable")
        self.rise, self.fall = round(rise_s * SECOND), round((rise_s + busy_s) * SECOND)
        kept = order[np.rint(times[order] * SECOND) <= self.fall]
        self.truth = ScriptedTrace(
            self.time, np.rint(times[kept] * SECOND), levels[kept], [(self.rise, 1), (self.fall, 0)], VOLT
        )
        self.setting = Setting(VOLT, 0.1, 0.00225, IDLE_S, busy_s)
        self.host = Host(self.time.seconds, self.time.sleep)

    def energy(self) -> float:
        """Return the true energy between the edges, in joules."""
        begin, end = self.truth.charge(np.array([self.rise, self.fall]))
        return float(end - begin) * VOLT


@contextlib.contextmanager
def served(instrument, name: str = "meter", timeout_ms: int = 5000):
    """Serve an instrument and yield a session with it."""
    server = InstrumentServer(instrument)
    server.start()
    session = VisaSession(server.resource, name, timeout_ms)
    try:
        yield session
    finally:
        session.close()
        server.close()


def energy_between_edges(capture) -> float:
    """Return the energy between the edges as an integrating meter's readings tell it, each standing for its interval; joules."""
    begin, end = (edge.t_s for edge in capture.edges)
    t_s = capture.t_s
    limits = np.append(t_s, t_s[-1] + capture.interval_s)
    shares = np.clip(np.minimum(limits[1:], end) - np.maximum(limits[:-1], begin), 0, None)
    return float(np.sum(capture.power_w * shares))
