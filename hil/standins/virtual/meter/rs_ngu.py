"""A virtual Rohde & Schwarz NGU401: feeds the board, and logs pairs of volts and amperes.

Commands: NGU User Manual 1179.2531.02 (FLOG, FLOG:DATA?, SENSe:CURRent:RANGe, STATus). The interval of the blocks and
the time for which a block is kept are those of the maker's example for the NGM200. Each pair is sampled at an instant.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.meter.errors import Flaws
from hil.standins.virtual.meter.polled_scpi import VirtualWait, need_volt
from hil.standins.virtual.meter.scpi import RangeSetting, ScpiSetting, between, choice, number, switch, whole
from hil.standins.virtual.meter.scpi_instrument import Answer, ScpiInstrument, block
from hil.standins.virtual.meter.truth import Truth

RATES = {"S100": 100, "S001K": 1000, "S010K": 10_000, "S050K": 50_000, "S250K": 250_000, "S500K": 500_000}
RANGES_A = (10e-6, 1e-3, 10e-3, 100e-3, 1.0, 10.0)
BLOCK_PS, WAIT_PS = PS_PER_S // 4, PS_PER_S // 50
LATENCY_S = (0.0002, 0.0008)
OVERLOAD = np.float32(9.9e37)
_REGISTERS = ("OPERation", "QUEStionable")
_SUMMARY = {"OPERation": 1 << 7, "QUEStionable": 1 << 3}
_EVENT = {"OPERation": (8192, 2, 4096), "QUEStionable": (8192, 2, 2048)}
_LEVELS = ("", ":INSTrument", ":INSTrument:ISUMmary1")


class VirtualRsNGU(ScpiInstrument):
    """A Rohde & Schwarz NGU401.

    Args:
        truth: true supply.
        errors: errors of the instrument; the time base is that of the log.
        rng: generator of noise and latency.
        time: virtual time that advances by the latency; None if time advances by itself.
    """

    def __init__(self, truth: Truth, errors: Flaws, rng: np.random.Generator, time: VirtualWait | None = None) -> None:
        self._truth, self._off, self._rng, self._time = truth, errors, rng, time
        self._range, self.output = RangeSetting(RANGES_A, 1.0001), ScpiSetting(False, switch)
        self._rate, self.triggered = ScpiSetting(RATES["S500K"], choice(RATES)), ScpiSetting(False, switch)
        self.to_scpi = ScpiSetting(False, choice({"USB": False, "SCPI": True}))
        commands: dict[str, Callable[[str], Answer]] = {
            "[:SOURce]:VOLTage[:LEVel]": lambda a: need_volt(truth, number(a, 0, 20)),
            "[:SOURce]:CURRent[:LEVel]": ScpiSetting(0.0, between(0, 8)),
            "[:SENSe]:CURRent:RANGe[:UPPer]": self._range,
            "[:SENSe]:CURRent:RANGe[:UPPer]?": self._range.answer(".6e"),
            "[:SENSe]:CURRent:RANGe:AUTO": self._range.auto, ":OUTPut[:STATe]": self.output,
            ":OUTPut[:STATe]?": self.output.answer("d"),
            ":FLOG[:STATe]": self._switch_log, ":FLOG[:STATe]?": lambda _: str(int(self._start is not None)),
            ":FLOG:TARGet": self.to_scpi, ":FLOG:SRATe": self._rate, ":FLOG:TRIGgered": self.triggered,
            ":FLOG:DATA?": lambda _: self._data(), "*STB?": self._status,
        }  # fmt: skip
        self._enabled = {register: [ScpiSetting(0, whole(0, 65535)) for _ in _LEVELS] for register in _REGISTERS}
        self._events = {register: [0, 0, 0] for register in _REGISTERS}
        for register in _REGISTERS:
            for place, level in enumerate(_LEVELS):
                commands |= self._status_commands(register, place, f":STATus:{register}{level}")
        super().__init__("Rohde&Schwarz,NGU401,3639.3763k03/VIRTUAL,03.068", commands)
        self.preset()

    def preset(self) -> None:
        """Set the state after *RST: output off, automatic range, no log."""
        super().preset()
        self._start: int | None = None
        self._waiting: int | None = None
        self._next = 0

    def execute(self, line: str) -> bytes | None:
        """Wait for the latency of a query, then execute the line."""
        if self._time is not None and "?" in line:
            self._time.sleep(float(self._rng.uniform(*LATENCY_S)))
        self._advance()
        return super().execute(line)

    def _status_commands(self, register: str, place: int, head: str) -> dict[str, Callable[[str], Answer]]:
        return {
            f"{head}[:EVENt]?": lambda _: self._event(register, place),
            f"{head}:ENABle": self._enabled[register][place],
            f"{head}:PTRansition": ScpiSetting(0, whole(0, 65535)),
            f"{head}:NTRansition": ScpiSetting(0, whole(0, 65535)),
        }  # fmt: skip

    def _event(self, register: str, place: int) -> str:
        seen, self._events[register][place] = self._events[register][place], 0
        return str(seen)

    def _raise(self, register: str) -> None:
        """Set the event bit of the channel, and the summary bits above it as far as they are enabled."""
        bits, enabled, events = _EVENT[register], self._enabled[register], self._events[register]
        for place in (2, 1, 0):
            events[place] |= bits[place]
            if not enabled[place].value & bits[place]:
                return

    def _status(self, _argument: str) -> str:
        raised = [name for name in _REGISTERS if self._events[name][0] & self._enabled[name][0].value]
        return str(sum(_SUMMARY[name] for name in raised) + (4 if self._errors else 0))

    # the log

    def _switch_log(self, argument: str) -> None:
        starts = switch(argument) and not self.triggered.value and self.to_scpi.value
        self._start = self._truth.now() if starts else None
        self._next, self._waiting = 0, None

    def _advance(self) -> None:
        """Offer the block that is complete by now; drop one that was not fetched in time."""
        if self._start is None:
            return
        now = (self._truth.now() - self._start) / (1 + self._off.timebase)  # by its own clock
        while (self._next + 1) * BLOCK_PS <= now:
            if self._waiting is not None:
                self._raise("QUEStionable")
            self._waiting, self._next = self._next, self._next + 1
            self._raise("OPERation")
        if self._waiting is not None and now > (self._waiting + 1) * BLOCK_PS + WAIT_PS:
            self._waiting = None
            self._raise("QUEStionable")

    def _data(self) -> bytes:
        """Return the pairs of the offered block, or an empty block if none is offered."""
        if self._start is None or self._waiting is None:
            return block(np.empty(0), "<f4")
        begin, self._waiting = self._waiting * BLOCK_PS, None
        rate = self._rate.value
        first, last = (-(-edge * rate // PS_PER_S) for edge in (begin, begin + BLOCK_PS))
        own_ps = np.arange(first, last) * (PS_PER_S / rate)
        times = self._start + np.round(own_ps * (1 + self._off.timebase)).astype(np.int64)
        current = self._off.current(self._truth.current(times), 1.0, times / PS_PER_S, self._rng)
        if self._range.auto.value:
            self._range.follow(np.max(np.abs(current), initial=0.0))
        on = self.output.value
        pairs = np.empty((len(times), 2), np.float32)
        pairs[:, 0] = self._off.voltage(self._truth.volt(), len(times), 1.0, self._rng) if on else 0.0
        pairs[:, 1] = np.where(np.abs(current) > 1.05 * self._range.value, OVERLOAD, current if on else 0.0)
        return block(pairs, "<f4")
