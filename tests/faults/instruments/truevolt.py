"""Keysight 34465A: samples by its timer, the steps' begin at its external trigger, samples ahead of it kept; sees the
current only.

Truevolt Series Operating and Service Guide: memory 204, DATA:POINts 257, SAMPle:COUNt:PRETrigger 306, questionable data
387; operation register from Agilent's edition, 226; R? as the 53230A's guide has it (26). `unverified`: see each place.
"""

from __future__ import annotations

import numpy as np

from .analog import OVERFLOW
from .scpi import Refused, block, command, number, numbers
from .truevolt_settings import TruevoltSettings

TAKEN_S = 0.002  # from INITiate to the first sample: unverified
MEMORY, MEMORY_MEM = 50_000, 2_000_000  # samples, without and with the option MEM (204)
CURRENT_OVER, TIMING, MEMORY_OVER = 2, 4, 16384  # questionable data (387)
MEASURING, WAITING = 16, 32  # standard operation (226 of Agilent's edition)


class Truevolt(TruevoltSettings):
    """One 34465A. A reading beyond 120 % of its range is 9.9E37; a part of one that was beyond is cut off:
    unverified."""

    over = 1.2
    identity = "Keysight Technologies,34465A,MY54505555,A.03.03-03.15-03.03-00.52-03-02"

    def _reset(self) -> None:
        super()._reset()
        self.questionable = 0
        self._empty()

    def _empty(self) -> None:
        self.begun_s: float | None = None
        self.before, self.after = np.empty(0), np.empty(0)
        self.next_s, self.trigger_s, self.taken, self.ended = 0.0, None, 0, False

    @command("*CLS")
    def clear(self) -> None:
        super().clear()
        self.questionable = 0

    @command("INITiate[:IMMediate]")
    def _start(self) -> None:
        if self.begun_s is not None and not self._done():
            raise Refused(-213)
        if self.pretrigger >= self.count and self.pretrigger:
            raise Refused(-221)  # less than the sample count (34410A User's Guide, 780)
        self._empty()
        self.begun_s, self.next_s = self.world.now(), self.world.now() + TAKEN_S
        self.started()

    @command("ABORt")
    def _abort(self) -> None:
        self.fill()
        self.ended = True

    # what has been read

    def _memory(self) -> int:
        return MEMORY_MEM if "MEM" in self.options else MEMORY

    def _trigger(self, now_s: float) -> float | None:
        if self.source == "IMMediate":
            return self.begun_s
        edges = self.script.edges if self.script is not None else ()
        wanted = self.slope == "POSitive"
        return next((edge.t_s for edge in edges if edge.high == wanted and self.begun_s <= edge.t_s <= now_s), None)

    def _done(self) -> bool:
        self.fill()
        return self.ended or self.begun_s is None

    def fill(self) -> None:
        """Take the samples that are due."""
        if self.begun_s is None or self.ended:
            return
        now_s, clock = self.world.now(), 1 + self.front.errors.clock
        step, aperture = (self.timer if self.by_timer else self._shortest()) / clock, self.aperture / clock
        if self.by_timer and self.timer < self._shortest():
            self.questionable |= TIMING
        self.faults.interval_s = step
        if self.trigger_s is None:
            self.trigger_s = self._trigger(now_s)
        count = int((now_s - aperture - self.next_s) // step) + 1 if now_s - aperture >= self.next_s else 0
        if self.pretrigger == 0 and self.trigger_s is None:
            return
        if self.pretrigger == 0 and not self.taken:  # the timer begins with the trigger: unverified
            self.next_s = max(self.next_s, self.trigger_s)
            count = int((now_s - aperture - self.next_s) // step) + 1 if now_s - aperture >= self.next_s else 0
        if count <= 0:
            return
        begins = self.next_s + step * np.arange(count)
        later = np.zeros(count, bool) if self.trigger_s is None else begins >= self.trigger_s
        left = self.count - self.pretrigger - len(self.after)
        if later.sum() >= left:
            begins = begins[: count - int(later.sum()) + left]
            later, self.ended = later[: len(begins)], True
        self.next_s, self.taken = begins[-1] + step if len(begins) else self.next_s, self.taken + len(begins)
        values = self.faults.changed(begins, self.front.currents(self.range, begins, aperture), self.script)
        if np.any(values >= OVERFLOW):
            self.questionable |= CURRENT_OVER
        kept = self.faults.kept(begins, self.script)
        if not kept.all():
            self.questionable |= MEMORY_OVER
        values, later = values[kept], later[kept]
        self.before = np.concatenate([self.before, values[~later]])[
            max(len(self.before) + int((~later).sum()) - self.pretrigger, 0) :
        ]
        self.after = np.concatenate([self.after, values[later]])
        if len(self.after) > self._memory():
            self.after, self.questionable = self.after[-self._memory() :], self.questionable | MEMORY_OVER

    def _readings(self) -> np.ndarray:
        self.fill()
        return np.concatenate([self.before, self.after])

    def _formatted(self, values: np.ndarray, *, framed: bool) -> str | bytes:
        if self.form == "REAL":
            return block(values, (">" if self.order == "NORMal" else "<") + "f8")
        text = numbers(values, "%+.8E")
        return f"#{len(str(len(text)))}{len(text)}{text}" if framed else text

    def _take(self, count: int, *, framed: bool) -> str | bytes:
        values = self._readings()[:count]
        ahead = min(count, len(self.before))
        self.before, self.after = self.before[ahead:], self.after[count - ahead :]
        return self._formatted(values, framed=framed)

    @command("R?", most=1)
    def _read(self, count: str = "") -> str | bytes:
        available = len(self._readings())
        if not available and self.begun_s is None:
            raise Refused(-230)
        return self._take(int(number(count, 1, 2e6)) if count else available, framed=True)

    @command("DATA:REMove?", least=1, most=2)
    def _remove(self, count: str, wait: str = "") -> str | bytes:
        wanted = int(number(count, 1, 2e6))
        if wanted > len(self._readings()):
            raise Refused(-222)
        return self._take(wanted, framed=False)

    @command("FETCh?")
    def _fetch(self) -> str | bytes:
        if not self._done() or not len(self._readings()):
            raise Refused(-230)
        return self._formatted(self._readings(), framed=False)

    @command("DATA:POINts?")
    def _points(self) -> str:
        return f"{len(self._readings()):+d}"

    @command("DATA:LAST?")
    def _last(self) -> str:
        values = self._readings()
        return f"{values[-1]:+.8E} ADC" if len(values) else "+9.91000000E+37"

    @command("STATus:OPERation:CONDition?")
    def _operation(self) -> str:
        if self._done():
            return "+0"
        return f"{WAITING if self.trigger_s is None else MEASURING:+d}"

    @command("STATus:QUEStionable:CONDition?")
    def _condition(self) -> str:
        """387: overloads are events only, and read as 0 here."""
        self.fill()
        return f"{self.questionable & ~CURRENT_OVER:+d}"

    @command("STATus:QUEStionable[:EVENt]?")
    def _event(self) -> str:
        self.fill()
        events, self.questionable = self.questionable, 0
        return f"{events:+d}"
