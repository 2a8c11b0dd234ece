"""Keithley 2450 and DMM6500: a trigger model that fills reading buffers, one after the other as the marker changes.

Reference Manual 2461-901-01 A of the same family, section 6: TRIGger:BLOCk 6-193 to 6-209 (a count without end goes on
until the next block that measures, 6-202), TRIGger:DIGital 6-211 on. `unverified`: see each place.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .analog import OVERFLOW, Front
from .faults import Faults
from .keithley_buffers import Buffers
from .scpi import Refused, choice, command, is_word, number, quoted
from .world import World

LATENCY_S = 10e-6  # from an edge at the digital line to the next block: unverified
QUESTIONABLE, LIMITED = 2, 32  # of a reading's measure status (8-33) and source status (8-29)


@dataclass
class Background:
    """Measurements that go on while the trigger model does: into which buffer from when on, and which reading is
    next."""

    next_s: float
    until_s: float = np.inf
    into: list[tuple[float, str | None]] = field(default_factory=list)


class Keithley(Buffers):
    """What both have in common."""

    event = "DIGio1"

    def __init__(self, world: World, front: Front, faults: Faults) -> None:
        self.birth = world.now()
        super().__init__(world, front, faults)

    def _reset(self) -> None:
        super()._reset()
        self.blocks: dict[int, tuple] = {}
        self.begun_s: float | None = None
        self.background: Background | None = None
        self.edge, self._waits, self._unheard = "FALLing", False, 0

    # time: the instrument's clock is fast by errors.clock

    def _own(self, t_s: np.ndarray | float) -> np.ndarray | float:
        return (t_s - self.birth) * (1 + self.front.errors.clock)

    def interval_s(self) -> float:
        """Return the time from one reading to the next, of the world."""
        raise NotImplementedError

    def grid(self) -> tuple[float, float]:
        self.fill()
        return (self.background.next_s if self.background is not None else 0.0), self.interval_s()

    def aperture_s(self) -> float:
        """Return the time of a reading, of the world."""
        raise NotImplementedError

    # trigger model

    @command("TRIGger:LOAD", least=1)
    def _load(self, template: str) -> None:
        if quoted(template).upper() != "EMPTY":
            raise Refused(-224)
        self.blocks = {}

    @command("TRIGger:BLOCk:MDIGitize", "TRIGger:BLOCk:MEASure", least=1, most=3)
    def _measure_block(self, place: str, name: str = '"defbuffer1"', count: str = "1") -> None:
        self._buffer(name)
        self.blocks[self._place(place)] = ("measure", quoted(name), number(count, 0, 1e9, INFinite=np.inf))

    @command("TRIGger:BLOCk:WAIT", least=2, most=6)
    def _wait_block(self, place: str, event: str, clear: str = "NEVer", *_: str) -> None:
        if not (is_word(event, self.event) or event.upper() == self.event.upper().replace("IO", "")):
            raise Refused(-224)
        self.blocks[self._place(place)] = ("wait", choice(clear, "NEVer", "ENTer") == "ENTer", None)

    @command("TRIGger:BLOCk:DELay:CONStant", least=2)
    def _delay_block(self, place: str, seconds: str) -> None:
        self.blocks[self._place(place)] = ("delay", number(seconds, 0, 10_000), None)

    def _place(self, place: str) -> int:
        return int(number(place, 1, 255))

    @command("INITiate[:IMMediate]")
    def _start(self) -> None:
        if self._state() != "IDLE":
            raise Refused(-213)
        if not self.blocks:
            raise Refused(-221)
        self.begun_s = self.world.now()
        self.background = Background(self.begun_s + self._settling_s())
        self.started()

    def _settling_s(self) -> float:
        return 0.002  # from INIT to the first reading: unverified

    @command("ABORt")
    def _abort(self) -> None:
        self.fill()
        self.background = None

    @command("TRIGger:STATe?")
    def _trigger_state(self) -> str:
        state = self._state()
        return f"{state};{state};{max(self.blocks, default=1)}"

    def _state(self) -> str:
        self.fill()
        if self.background is None:
            return "IDLE"
        done_s = self._walk(self.world.now())[1]
        if done_s is None:
            return "WAITING" if self._waits else "RUNNING"
        return "IDLE"

    def _overrun(self) -> str:
        """Whether an edge came while the one before it had not been waited for."""
        self._walk(self.world.now())
        return str(int(self._unheard > 1))

    def _events(self, after_s: float, now_s: float) -> list[float]:
        wanted = {"EITHer": (True, False), "RISing": (True,), "FALLing": (False,)}[self.edge]
        edges = self.script.edges if self.script is not None else ()
        return [edge.t_s for edge in edges if after_s <= edge.t_s <= now_s and edge.high in wanted]

    def _walk(self, now_s: float) -> tuple[list[tuple[float, str | None, float]], float | None]:
        """Return when which block of measurements began, and when the model was through; None while it is not."""
        at_s, measured = self.begun_s, []
        events, self._waits = self._events(self.begun_s, now_s), False
        for place in sorted(self.blocks):
            kind, first, second = self.blocks[place]
            if kind == "measure":
                measured.append((at_s, first if second else None, second))
                if 0 < second < np.inf:
                    at_s += second * self.interval_s()
            elif kind == "delay":
                at_s += first
            elif kind == "wait":
                events = [one for one in events if not first or one >= at_s]
                if not events:
                    self._waits = True
                    self._unheard = 0
                    return measured, None
                at_s = max(at_s, events.pop(0)) + LATENCY_S
            if at_s > now_s:
                self._unheard = len(events)
                return measured, None
        self._unheard = len(events)
        return measured, at_s

    def fill(self) -> None:
        """Make the readings that have come since the buffers were last looked at."""
        if self.background is None:
            return
        now_s = self.world.now()
        measured, done_s = self._walk(now_s)
        self.faults.interval_s = self.interval_s()
        step, aperture, begin = self.interval_s(), self.aperture_s(), self.background.next_s
        end_s = now_s if done_s is None or measured[-1][1] is not None else min(now_s, done_s)
        count = int((end_s - aperture - begin) // step) + 1 if end_s - aperture >= begin else 0
        if count <= 0:
            return
        begins = begin + step * np.arange(count)
        self.background.next_s = begins[-1] + step
        rows = self.rows(begins, aperture)
        kept = self.faults.kept(begins, self.script)
        rows, begins = rows[kept], begins[kept]
        starts = np.array([at for at, _, _ in measured])
        owner = np.searchsorted(starts, begins, side="right") - 1
        for place, (_, name, most) in enumerate(measured):
            mine = rows[owner == place]
            if name is not None and name in self.buffers and len(mine):
                self.buffers[name].store(mine if most == np.inf else mine[: int(most)])

    def rows(self, begins: np.ndarray, aperture_s: float) -> np.ndarray:
        """Return readings: time stamp, current, voltage, status and source status."""
        used = self.faults.range_at(begins, self.range, self.front.sheet, self.script)
        front = self.front
        current = front.currents(self.range, begins, aperture_s)
        for one in {id(one): one for one in used}.values():
            if one is not self.range:
                there = np.array([other is one for other in used])
                current[there] = front.currents(one, begins[there], aperture_s)
        current = self.faults.changed(begins, current, self.script)
        status = np.where(current >= OVERFLOW, QUESTIONABLE, 0)
        source = np.where(front.limited(begins, aperture_s), LIMITED, 0)
        stamps = self.faults.stamped(np.asarray(self._own(begins)), begins, self.script)
        return np.stack([stamps, current, front.voltages(self.range, begins, aperture_s), status, source], axis=1)
