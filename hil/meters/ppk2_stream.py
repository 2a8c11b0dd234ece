"""Read the raw samples of a Nordic PPK2: 100,000 words of 32 bits per second, as its library returns them.

    bits 0-13    reading of the converter
    bits 14-16   current range, 0 to 4
    bits 18-23   counter, one more with each sample, modulo 64
    bits 24-31   digital inputs D0 to D7

(nRF Connect Power Profiler, serialDevice.ts.) ppk2_api turns a word into a current but ignores the counter, so a lost
sample would shorten the time unnoticed. It also takes 10 to 30 us per sample. A current depends on converter and range
alone, except after a change of range, which the library smooths. So each different word is converted once, and
the samples around a change of range in full.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import Any

import numpy as np

from hil.energy.capture import Edge, edge_between
from hil.port_errors import PORT_ERRORS
from hil.threads import start

RATE_HZ = 100_000
WORD = np.dtype("<u4")
MARKER = 1 << 24  # D0
COUNTER_AT, COUNTS = 18, 64
BLIND_S = COUNTS / RATE_HZ  # a loss of a multiple of this does not show in the counter
RANGE_AT, RANGES = 14, 5
CONVERTED = (1 << 17) - 1  # the bits on which the current depends
# Samples before a change of range from which the library's smoothing has the right state: it forgets 6 % with each.
RUN_UP = 300
SMOOTHED = 8  # samples after a change that the library may smooth; it smooths three, or four
PAUSE_S = 0.001
READING: tuple[type[Exception], ...] = (
    *PORT_ERRORS,
    TypeError,
)  # TypeError: pyserial, if the port was closed meanwhile


class Reader:
    """Reads the bytes of a PPK2 in a thread, because its own memory and that of the port hold some milliseconds.

    Args:
        device: a `PPK2_API` that measures.
        now: the host's clock in seconds.
    """

    def __init__(self, device: Any, now: Callable[[], float]) -> None:
        self._device, self._now, self._lock, self._over = device, now, Lock(), Event()
        self._pieces: list[tuple[float, bytes]] = []
        self._error: Exception | None = None
        self._thread = Thread(target=self._read, name="ppk2", daemon=True)
        start(self._thread)

    def take(self) -> list[tuple[float, bytes]]:
        """Return the bytes that have arrived since the last call, in pieces with the host's time of each.

        Raises:
            OSError: the port is gone.
        """
        with self._lock:
            if self._error is None:
                self._take()
            pieces, self._pieces = self._pieces, []
        if self._error is not None and not pieces:
            raise OSError(str(self._error)) from self._error
        return pieces

    def stop(self) -> None:
        """Stop reading."""
        self._over.set()
        self._thread.join()

    def _read(self) -> None:
        while not self._over.wait(PAUSE_S):
            try:
                with self._lock:
                    self._take()
            except READING as error:
                self._error = error
                return

    def _take(self) -> None:
        data = self._device.get_data()
        if data:
            self._pieces.append((self._now(), data))


class Recording:
    """The raw samples of a window so far. Samples long before the first edge of the marker are dropped.

    Args:
        kept: samples to keep before the first edge.

    Attributes:
        edges: changes of D0 on the meter's clock, which starts with the first sample.
        reached: number of the next sample.
    """

    def __init__(self, kept: int) -> None:
        self.edges: list[Edge] = []
        self.reached = 0
        self._kept, self._rest = kept, b""
        self._words: list[np.ndarray] = []
        self._numbers: list[np.ndarray] = []
        self._last: int | None = None  # the last word

    def add(self, data: bytes) -> None:
        """Add received bytes; an incomplete word waits for its rest."""
        data = self._rest + data
        whole = len(data) - len(data) % WORD.itemsize
        self._rest = data[whole:]
        words = np.frombuffer(data[:whole], WORD)
        if not len(words):
            return
        numbers = self._number(words)
        self._find_edges(words, numbers)
        self._words.append(words)
        self._numbers.append(numbers)
        self.reached, self._last = int(numbers[-1]) + 1, int(words[-1])
        while not self.edges and len(self._numbers) > 1 and self._numbers[1][0] < self.reached - self._kept:
            del self._words[0], self._numbers[0]

    def _number(self, words: np.ndarray) -> np.ndarray:
        """Return the numbers of samples, int64[n], by their counter; a loss of a multiple of 64 does not show."""
        counters = (words >> COUNTER_AT).astype(np.int64) % COUNTS
        before = counters[0] - 1 if self._last is None else self._last >> COUNTER_AT
        steps = (np.diff(counters, prepend=before) - 1) % COUNTS + 1
        return self.reached - 1 + np.cumsum(steps)

    def _find_edges(self, words: np.ndarray, numbers: np.ndarray) -> None:
        high = (words & MARKER) > 0
        before = high[0] if self._last is None else bool(self._last & MARKER)
        for place in np.flatnonzero(np.diff(high, prepend=before)):
            earlier = int(numbers[place - 1]) if place else self.reached - 1
            self.edges.append(edge_between(earlier / RATE_HZ, int(numbers[place]) / RATE_HZ, high=bool(high[place])))

    def drain(self) -> tuple[np.ndarray, np.ndarray]:
        """Remove and return the samples so far: words uint32[n] and their numbers int64[n]."""
        words, numbers = self._words, self._numbers
        self._words, self._numbers = [], []
        empty = np.empty(0, WORD), np.empty(0, np.int64)
        return (np.concatenate(words), np.concatenate(numbers)) if words else empty


def ranges(words: np.ndarray) -> np.ndarray:
    """Return the current range of each sample, 0 to 4; a larger number is no sample of a PPK2."""
    return (words >> RANGE_AT).astype(np.int64) & 7


def currents(device: Any, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the currents of consecutive samples, float64[n] amperes, as `PPK2_API.get_samples` converts them.

    The second array has them without the library's smoothing after a change of range. It hides the spikes of the meter
    when it switches, and the board's own bursts of some samples, so the truth lies between both.

    Args:
        device: a `PPK2_API` that has read its calibration, and knows the voltage.
        words: uint32[n], in ranges 0 to 4.
    """
    bits = words & CONVERTED
    different, places = np.unique(bits, return_inverse=True)
    table = np.empty(len(different))
    for number in range(RANGES):
        alike = ranges(different) == number
        table[alike] = _converted(device, different[alike])
    plain = table[places]
    found = plain.copy()
    changes = np.flatnonzero(np.diff(ranges(words))) + 1
    for first, last in _stretches(changes, len(words)):
        run_up = max(0, first - RUN_UP)
        found[first:last] = _converted(device, words[run_up:last])[first - run_up :]
    return found, plain


def _stretches(changes: np.ndarray, count: int) -> list[tuple[int, int]]:
    """Return the places, from and to, of the samples that the library may smooth; changes close together share one."""
    found: list[tuple[int, int]] = []
    for change in changes:
        end = min(int(change) + SMOOTHED, count)
        if found and change <= found[-1][1] + RUN_UP:
            found[-1] = found[-1][0], end
        else:
            found.append((int(change), end))
    return found


def _converted(device: Any, words: np.ndarray) -> np.ndarray:
    """Convert words by the library, which takes the first as the begin of a measurement; float64[n] amperes.

    `get_samples` takes an empty buffer for a sample of 0, and a part of a word for a whole one.
    """
    device.rolling_avg = device.rolling_avg4 = device.prev_range = None
    device.consecutive_range_samples = device.after_spike = 0
    device.remainder = {"sequence": b"", "len": 0}
    if not len(words):
        return np.empty(0)
    microamperes, _ = device.get_samples(words.astype(WORD).tobytes())
    if len(microamperes) != len(words):  # it leaves out what it cannot convert
        return np.full(len(words), np.nan)
    return np.asarray(microamperes, np.float64) * 1e-6
