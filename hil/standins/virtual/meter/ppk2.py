"""A virtual Nordic Power Profiler Kit II: commands of one byte, metadata as text, and 100,000 samples a second.

Sources: Nordic's app (pc-nrfconnect-ppk: src/constants.ts, src/device/), ppk2-api (IRNAS/ppk2-api-python); for the
metadata ppk2-rs. Not published, and assumed: a sample is the current and the levels at an instant; the counter goes on
from one measurement to the next; unknown commands, and voltages that the regulator does not have, are ignored.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np

from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.meter.errors import FlawLimits, Flaws
from hil.standins.virtual.meter.ppk2_calibration import RANGES, Calibration
from hil.standins.virtual.meter.ppk2_ranges import RESOLUTION_A, RangeSwitch, Settling
from hil.standins.virtual.meter.truth import Truth

# As a serial port's list tells it (pyserial, `comports`); a pseudo-terminal cannot. Firmware 1.2 has a second port.
USB = {"vid": 0x1915, "pid": 0xC00A, "product": "PPK2"}
HERTZ = 100_000
# Nordic's user guide gives 10 % as the typical accuracy of a mean, 15 % in the largest range. Offset and noise of a
# sample are assumed: half the resolution of the range. The time base is assumed.
LIMITS = FlawLimits(
    gain=0.10, offset_a=RESOLUTION_A[0] / 2, voltage_gain=0.0, voltage_offset_v=0.0, timebase=50e-6,
    noise_a=RESOLUTION_A[0] / 2 / HERTZ**0.5,
)  # fmt: skip
_GAIN_BY_RANGE = np.array([1.0, 1.0, 1.0, 1.0, 1.5])
_BY_RANGE = RESOLUTION_A / RESOLUTION_A[0]  # offset and noise
LEAST_MV, MOST_MV = 800, 5000
AMPERE_METER, SOURCE_METER = 1, 2
_TOLERANCE = 0.05  # of the supply's voltage: the model of the board has one
_COUNTER = 0x3F
_BLOCK = 1 << 16  # samples that are made at once


class VirtualPpk2:
    """A Power Profiler Kit II with the marker at D0; the other digital inputs are low.

    It measures no current while the load is switched off, in both modes, and while its regulator has another voltage
    than the board needs. Its gain has another sign in each range, so that no two of them agree by chance.

    Args:
        truth: true supply.
        errors: errors of the instrument, in its smallest range.
        rng: generator of its calibration and its noise.

    Attributes:
        drop: numbers of the samples of a measurement that are lost; the counter counts them.
        lost_share: share of the samples, drawn at random, that are lost.
        halved: number of the next metadata texts that end in the middle.
        silent: number of the next metadata texts that are not sent.
        garbage: bytes that are sent before the first sample of the next measurement.
    """

    def __init__(self, truth: Truth, errors: Flaws, rng: np.random.Generator) -> None:
        self._truth, self._errors, self._rng = truth, errors, rng
        self.calibration = Calibration(rng)
        signs = rng.choice((-1.0, 1.0), (2, RANGES))
        self._gain = 1 + errors.gain * _GAIN_BY_RANGE * signs[0]
        self._offset = errors.offset_a * _BY_RANGE * signs[1]
        self._noise = errors.noise_a * HERTZ**0.5 * _BY_RANGE
        # The error of its time base makes its sampling interval longer or shorter in true time.
        self._interval = PS_PER_S / HERTZ / (1 + errors.timebase)
        self._switch, self._settling = RangeSwitch(), Settling()
        self._counter = int(rng.integers(_COUNTER + 1))
        self._mode, self._millivolts, self._load_on = SOURCE_METER, 3000, False
        self._begin: int | None = None
        self._made = 0
        self._typed = b""
        self.drop: set[int] = set()
        self.lost_share = 0.0
        self.halved = self.silent = 0
        self.garbage = b""
        # Command bytes, with the number of bytes that follow them.
        self._commands: dict[int, tuple[int, Callable[[bytes], bytes]]] = {
            0x06: (0, self._start), 0x07: (0, self._stop), 0x0C: (1, self._switch_load), 0x0D: (2, self._set_regulator),
            0x11: (1, self._set_mode), 0x19: (0, self._tell), 0x20: (0, self._reset), 0x25: (5, self._set_user_gain),
        }  # fmt: skip

    def take(self, data: bytes) -> bytes:
        self._typed += data
        answer = b""
        while self._typed:
            length, action = self._commands.get(self._typed[0], (0, lambda _: b""))
            if len(self._typed) <= length:
                break
            argument, self._typed = self._typed[1 : 1 + length], self._typed[1 + length :]
            answer += self.due() + action(argument)  # what was measured before is measured with the earlier settings
        return answer

    # commands

    def _start(self, _argument: bytes) -> bytes:
        if self._begin is None:
            self._begin, self._made = self._truth.now(), 0
        sent, self.garbage = self.garbage, b""
        return sent

    def _stop(self, _argument: bytes) -> bytes:
        if self._begin is not None:
            self._begin, self._counter = None, self._counter + self._made
        return b""

    def _switch_load(self, argument: bytes) -> bytes:
        self._load_on = argument == b"\1"
        return b""

    def _set_regulator(self, argument: bytes) -> bytes:
        wanted = int.from_bytes(argument, "big")
        if LEAST_MV <= wanted <= MOST_MV:
            self._millivolts = wanted
        return b""

    def _set_mode(self, argument: bytes) -> bytes:
        if argument[0] in (AMPERE_METER, SOURCE_METER):
            self._mode = argument[0]
        return b""

    def _tell(self, _argument: bytes) -> bytes:
        text = self.calibration.metadata(self._millivolts, self._mode).encode("ascii")
        if self.silent:
            self.silent -= 1
            return b""
        if self.halved:
            self.halved -= 1
            return text[: len(text) // 2]
        return text

    def _reset(self, argument: bytes) -> bytes:
        """Switch the load off and end the measurement. (A real one also leaves the USB for a moment.)"""
        self._load_on = False
        return self._stop(argument)

    def _set_user_gain(self, argument: bytes) -> bytes:
        number, gain = struct.unpack("<Bf", argument)
        if number < RANGES:
            self.calibration.set_user_gain(number, gain)
        return b""

    # samples

    def due(self) -> bytes:
        if self._begin is None:
            return b""
        first, self._made = self._made, int((self._truth.now() - self._begin) / self._interval)
        starts = range(first, self._made, _BLOCK)
        return b"".join(self._samples(self._begin, np.arange(n, min(n + _BLOCK, self._made))) for n in starts)

    def _samples(self, begin: int, numbers: np.ndarray) -> bytes:
        times = begin + np.rint(numbers * self._interval).astype(np.int64)
        rail = self._truth.volt() if self._mode == AMPERE_METER else self._millivolts / 1000
        fed = self._load_on and abs(rail - self._truth.volt()) <= _TOLERANCE * self._truth.volt()
        true = self._truth.current(times) if fed else np.zeros(len(times))
        ranges = self._switch.follow(true)
        noise = self._rng.normal(0.0, 1.0, len(times)) * self._noise[ranges]
        read = true * self._gain[ranges] + self._offset[ranges] + noise
        volts = self._settling.disturb(self.calibration.shunt_volts(read, ranges, rail), ranges)
        words: np.ndarray = self.calibration.counts(volts, ranges) | ranges << 14
        words |= (self._counter + numbers & _COUNTER) << 18 | self._marker(times) << 24
        kept = ~np.isin(numbers, list(self.drop)) & (self._rng.random(len(numbers)) >= self.lost_share)
        return words[kept].astype("<u4").tobytes()

    def _marker(self, times: np.ndarray) -> np.ndarray:
        """Return the level of the marker at each time; int64[n]."""
        edges = self._truth.edges()
        if not edges:
            return np.zeros(len(times), np.int64)
        levels = np.array([1 - edges[0][1], *(level for _, level in edges)])
        return levels[np.searchsorted([when for when, _ in edges], times, side="right")]
