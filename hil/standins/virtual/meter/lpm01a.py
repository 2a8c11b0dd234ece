"""A virtual X-NUCLEO-LPM01A: commands and text stream (from its help text, as printed in mlcommons/tiny; UM2243)."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.meter.errors import Flaws
from hil.standins.virtual.meter.truth import Truth, VirtualTime, mean_current

PROMPT = "PowerShield > "
OVERCURRENT_A = 0.059
FREQUENCIES = {"100k", "50k", "20k", "10k", "5k", "2k", "1k", "500", "200", "100", "50", "20", "10", "5", "2", "1"}
STAMPS = 1000  # readings from one time stamp to the next
CALIBRATION_PS = PS_PER_S // 2  # calibration at the end of `volt`; assumed


class VirtualLpm01a:
    """An X-NUCLEO-LPM01A.

    Args:
        truth: true supply.
        errors: errors of the instrument.
        rng: generator of its noise and of the place of event lines in the stream.
        time: virtual time that advances during calibration; None if time advances by itself.
        present: answer to `powershield`.
        both: whether the firmware accepts `eventsrc d7 both`.

    Attributes:
        drop: numbers of the readings that are not sent.
        garble: numbers of the readings that are sent damaged.
    """

    def __init__(
        self, truth: Truth, errors: Flaws, rng: np.random.Generator, time: VirtualTime | None = None,
        present: str = "PowerShield present: trainrig,virtual", both: bool = True,
    ) -> None:  # fmt: skip
        self._truth, self._errors, self._rng, self._time = truth, errors, rng, time
        self._present, self._both = present, both
        self._typed = ""
        self._settings: dict[str, str] = {}
        self._controlled = self._running = False
        self.drop: set[int] = set()
        self.garble: set[int] = set()
        self._words: dict[str, Callable[[str], bool]] = {
            "acqmode": lambda a: a in ("dyn", "stat"), "funcmode": lambda a: a in ("optim", "high"),
            "output": lambda a: a in ("current", "energy"),
            "format": lambda a: a == "ascii_dec", "freq": lambda a: a in FREQUENCIES,
            "acqtime": lambda a: a in ("inf", "0"), "trigsrc": lambda a: a in ("sw", "d7"), "trigdelay": str.isalnum,
            "currthres": lambda a: bool(re.fullmatch(r"\d+[num]?", a)),
            "pwr": lambda a: a in ("on", "off", "auto", "on nostatus", "get"), "pwrend": lambda a: a in ("on", "off"),
            "volt": self._volt, "eventsrc": lambda a: a in {"d7 fal", "d7 ris"} | ({"d7 both"} if both else set()),
        }  # fmt: skip

    def take(self, data: bytes) -> bytes:
        self._typed += data.decode("ascii", "replace")
        *lines, self._typed = self._typed.split("\n")
        return "".join(self._execute(line.strip()) for line in lines).encode("ascii")

    def _execute(self, line: str) -> str:
        word, _, argument = line.partition(" ")
        if not word:
            return PROMPT
        if word == "stop" and self._running:
            sent = self._stream()
            self._running = False
            return f"{sent}end\r\nAcquisition completed\r\n{PROMPT}"
        return f"{self._answer(word, argument)}\r\n" + ("" if self._running else PROMPT)

    def _answer(self, word: str, argument: str) -> str:
        if word in ("htc", "hrc"):
            self._controlled = word == "htc"
            return f"ack {word}"
        if word in ("powershield", "version"):
            return f"ack {word}: {self._present if word == 'powershield' else '1.0.6'}"
        if not self._controlled or self._running:
            return f"error {word} {argument}\r\nError detail: not controlled by host"
        if word == "start":
            return self._start()
        if (word, argument) == ("volt", "get"):
            return f"ack volt get {self._settings.get('volt', '3300m')[:-1]}-03"
        if word not in self._words or not self._words[word](argument):
            return f"error {word} {argument}\r\nError detail: argument"
        self._settings[word] = argument
        return f"ack {word} {argument}"

    def _volt(self, argument: str) -> bool:
        good = bool(re.fullmatch(r"\d{4}m", argument)) and 1800 <= int(argument[:-1]) <= 3300
        if good and self._time is not None:
            self._time.ps += CALIBRATION_PS
        return good

    # the stream

    def _start(self) -> str:
        self._running = True
        self._begin = self._truth.now()
        self._made = self._events = self._stamps = 0
        self._hertz = int(self._settings.get("freq", "100").replace("k", "000"))
        # The error of its time base makes its sampling interval 1/f longer or shorter in true time.
        self._interval = PS_PER_S / self._hertz / (1 + self._errors.timebase)
        return "ack start"

    def due(self) -> bytes:
        return self._stream().encode("ascii") if self._running else b""

    def _stream(self) -> str:
        """Return all lines since the last one sent, up to now."""
        last = int((self._truth.now() - self._begin) / self._interval)
        numbers = np.arange(self._made, last)
        if not len(numbers):
            return ""
        self._made = last
        values, over = self._values(numbers)
        lines: list[tuple[float, str]] = [
            (float(n), f"{_four_digits(v)[: 5 if n in self.garble else 7]}") for n,
            v in zip(numbers.tolist(), values, strict=True) if n not in self.drop
        ]  # fmt: skip
        lines += self._event_lines(last) + self._stamp_lines(last)
        text = "".join(f"{line}\r\n" for _, line in sorted(lines, key=lambda one: one[0]))
        if over:
            self._running = False
            text += f"error: Overcurrent\r\nend\r\n{PROMPT}"
        return text

    def _values(self, numbers: np.ndarray) -> tuple[np.ndarray, bool]:
        begins = self._begin + np.rint(numbers * self._interval).astype(np.int64)
        length = round(self._interval)
        true = mean_current(self._truth, begins, length)
        amps = self._errors.current(true, length / PS_PER_S, begins / PS_PER_S, self._rng)
        if self._settings.get("output") != "energy":
            return np.maximum(amps, 0.0), bool((true > OVERCURRENT_A).any())
        volts = self._errors.voltage(self._truth.volt(), len(numbers), length / PS_PER_S, self._rng)
        return np.maximum(amps * volts / self._hertz, 0.0), bool((true > OVERCURRENT_A).any())

    def _event_lines(self, last: int) -> list[tuple[float, str]]:
        wanted = self._settings.get("eventsrc", "")
        levels = {"d7 both": (0, 1), "d7 ris": (1,), "d7 fal": (0,)}.get(wanted, ())
        edges = [when for when, level in self._truth.edges() if when >= self._begin and level in levels]
        lines = []
        for when in edges[self._events :]:
            place = (when - self._begin) / self._interval
            if place >= last - 1:
                break  # send it with the next readings: the line may come after the reading during which the edge came
            self._events += 1
            lines.append((np.floor(place) + self._rng.choice((-0.5, 0.5)), f"event {self._events} ris"))
        return lines

    def _stamp_lines(self, last: int) -> list[tuple[float, str]]:
        lines = []
        while (self._stamps + 1) * STAMPS <= last:
            self._stamps += 1
            ms = self._stamps * STAMPS * 1000 // self._hertz
            lines.append((self._stamps * STAMPS - 0.75, f"TimeStamp: {ms // 1000:03d}s {ms % 1000:03d}ms, buff 00%"))
        return lines


def _four_digits(value: float) -> str:
    """Return a number in the instrument's format: four digits and a power of ten."""
    if value <= 0:
        return "0000-09"
    mantissa, _, power = f"{value:.3e}".partition("e")
    return f"{mantissa.replace('.', '')}{int(power) - 3:+03d}"
