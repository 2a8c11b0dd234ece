"""ST X-NUCLEO-LPM01A, the "PowerShield", through its USB serial port (UM2243; UM2269; MLPerf Tiny's runner for what it sends).

It feeds the board, sums energy up between two readings and starts anew with each (`output energy`), so its readings are means over
their interval. Edges on its Arduino pin D7 are lines among the readings: one is found up to a reading before or after its line.
Readings are text, at most 5,000 a second without end (its own `help`); for the faster binary stream no form of an edge is published.
"""

from __future__ import annotations

import re

import numpy as np

from hil.energy.capture import Capture, Edge
from hil.energy.data_sheet import DataSheet
from hil.errors import Blocked, RigError
from hil.meters.lpm01a_stream import Stream
from hil.meters.meter import Host, Setting, Spoiled
from hil.meters.serial_line import Line

BAUD = 3_686_400
FREQUENCIES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
VOLTS = (1.8, 3.3)
PROMPT = "PowerShield >"
ANSWER_S = 6.0  # `volt` ends with a calibration of its own
POLL_S = 0.1
FULL = 100  # percent of its buffer
BEHIND = 0.95  # of the sleep: what comes later may belong to something else
STAMPS = 1000  # readings from one time stamp to the next
STAMP_S = 2.0  # waited for at most, for the one that tells whether a reading was lost at the end
EVENTS = ("d7 both", "d7 fal")


class Lpm01a:
    """An X-NUCLEO-LPM01A at a serial port.

    Args:
        line: the serial port, 3,686,400 baud.
        sheet: its data sheet.
        host: clock and sleep.

    Raises:
        Blocked: it does not answer, or is another device.
    """

    def __init__(self, line: Line, sheet: DataSheet, host: Host) -> None:
        self._line, self.sheet, self._host = line, sheet, host
        line.write(b"\nstop\n")  # ends what another program left half typed, or running
        self._silence()
        self._take_control()
        self.identity = " ".join(self._ask("powershield").split())
        if sheet.identity not in self.identity:
            raise Blocked("meter", f"the meter is {self.identity!r}, not a {sheet.name}: put rig.toml right.")
        self.identity += f", firmware {(self._ask('version').split() or ['not told'])[-1]}"

    def configure(self, setting: Setting) -> None:
        """Set everything that a window depends on: the board's own reset would end the connection.

        Raises:
            RigError: a voltage or a range that it has not.
        """
        if not VOLTS[0] <= setting.volt <= VOLTS[1]:
            raise RigError(
                f"the {self.sheet.name} feeds {VOLTS[0]:g} to {VOLTS[1]:g} V, not {setting.volt:g} V: measure with another meter."
            )
        self._setting, self._range = setting, self.sheet.range_for(setting.range_a)
        self.frequency = max((f for f in FREQUENCIES if f * setting.interval_s <= 1.0001), default=FREQUENCIES[0])
        for command in (
            "acqmode dyn", "funcmode optim", "output energy", "format ascii_dec", f"freq {_frequency(self.frequency)}", "acqtime inf", "trigsrc sw",
            "trigdelay 0", "currthres 0", "pwrend on", f"volt {round(setting.volt * 1000)}m", "pwr on nostatus",
        ):  # fmt: skip
            self._ask(command)
        self._both_edges = self._choose_events()
        found = re.findall(r"\b(\d+)([+-]\d+)\b", self._ask("volt get"))
        if not found:
            raise Blocked("meter", f"the {self.sheet.name} did not tell its voltage: plug it in again.")
        self.volt = int(found[-1][0]) * 10.0 ** int(found[-1][1])

    @property
    def falling_only(self) -> bool:
        """Whether its firmware tells falling edges only."""
        return not self._both_edges

    def _choose_events(self) -> bool:
        """Ask for both edges; a firmware that tells falling edges only wants a marker that pulses down at either end."""
        for events in EVENTS:
            try:
                self._ask(f"eventsrc {events}")
            except Blocked:
                if events == EVENTS[-1]:
                    raise
            else:
                return events == EVENTS[0]
        raise AssertionError("unreachable")

    def arm(self) -> None:
        """Begin to read: the edges that follow belong to the window."""
        self._stream = Stream()
        self._stream.feed(self._ask("start", rest=True).encode("ascii", "replace"))

    def capture(self, deadline_s: float) -> Capture:
        """Read until the sleep behind the second edge is over, and stop."""
        until = self._host.now() + deadline_s
        try:
            while not self._over():
                if self._host.now() > until:
                    raise Blocked("meter", self._no_edges(deadline_s))
                self._host.sleep(POLL_S)
                self._stream.feed(self._line.read())
                self._look_for_trouble()
        finally:
            self._stop()
        return self._capture()

    def _over(self) -> bool:
        stream = self._stream
        if len(stream.events) < 2:
            return False
        edge = stream.events[1][1]
        asleep = len(stream.readings) - edge >= BEHIND * self._setting.idle_s * self.frequency
        return asleep and (self._stamped(edge) or STAMP_S * self.frequency < STAMPS)

    def _stamped(self, edge: int) -> bool:
        """Whether a time stamp has come behind the last edge: readings are known to be complete up to there."""
        return bool(self._stream.stamps) and self._stream.stamps[-1][1] >= edge

    def _no_edges(self, deadline_s: float) -> str:
        told = (
            ""
            if self._both_edges
            else "its firmware tells falling edges only, so that the marker must pulse down at begin and end; "
        )
        return (
            f"the {self.sheet.name} has seen {len(self._stream.events)} of the 2 edges of the marker within {deadline_s:.0f} s: {told}"
            "wire the board's marker pin to its pin D7 and close the solder bridge."
        )

    def _look_for_trouble(self) -> None:
        stream = self._stream
        trouble = next(
            (
                line
                for line in stream.messages
                if re.search(r"error|overcurrent|overflow|completed|^end$", line, re.IGNORECASE)
            ),
            None,
        )
        if trouble is not None and "overcurrent" in trouble.lower():
            raise Spoiled(f"the board drew more than the {self.sheet.name} can deliver.", beyond_range=True)
        if trouble is not None:
            raise Spoiled(f"the {self.sheet.name} ended the acquisition ({trouble!r}).")
        if stream.garbled:
            raise Spoiled(f"{stream.garbled} readings of the {self.sheet.name} arrived garbled.")
        if stream.fullest >= FULL:
            raise Spoiled(f"the buffer of the {self.sheet.name} overflowed: choose fewer readings a second.")

    def _capture(self) -> Capture:
        stream, f = self._stream, self.frequency
        numbers = [number for number, _ in stream.events]
        if len(numbers) != 2 or numbers[1] != numbers[0] + 1:
            raise Spoiled(
                f"the {self.sheet.name} told of edges number {', '.join(map(str, numbers))} instead of two in a row."
            )
        lost = stream.lost(f) if self._stamped(stream.events[1][1]) else None
        if lost:
            raise Spoiled(f"{lost} readings of the {self.sheet.name} are missing.")
        behind = stream.events[1][1] + round(BEHIND * self._setting.idle_s * f)
        power = np.array(stream.readings[:behind]) * f
        if not np.isfinite(power).all() or np.max(power, initial=0.0) > self._range.amperes * self.volt:
            raise Spoiled(
                f"a reading was beyond the {self._range.amperes:g} A of the {self.sheet.name}.", beyond_range=True
            )
        edges = tuple(
            Edge(place / f, 1 / f, high) for (_, place), high in zip(stream.events, (True, False), strict=True)
        )
        times, volts = np.arange(len(power)) / f, np.full(len(power), self.volt)
        return Capture(times, power, power / self.volt, volts, 1 / f, 1 / f, edges, self._range.amperes, lost)

    def watch(self) -> np.ndarray:
        """Return the power of the readings since the last call, float64[n] in watts; it must be armed.

        Raises:
            Spoiled: it ended the acquisition.
        """
        self._stream.feed(self._line.read())
        self._look_for_trouble()
        power = np.array(self._stream.readings) * self.frequency
        self._stream.readings.clear()
        return power

    def close(self) -> None:
        """Give the board's buttons back; what it feeds stays fed (`pwrend on`)."""
        self._line.write(b"stop\nhrc\n")
        self._line.close()

    # the dialogue: the prompt, then `ack` or `error` with the command, then what it has to say

    def _take_control(self) -> None:
        """The prompt it greets with may spoil the first command: one more try (seen on a bench with firmware 1.0.1)."""
        try:
            self._ask("htc")
        except Blocked:
            self._silence()
            self._ask("htc")

    def _ask(self, command: str, *, rest: bool = False) -> str:
        """Return what stands behind `ack` and the command in its answer, or, of `start`, what has come after that line."""
        self._silence()
        self._line.write(command.encode("ascii") + b"\n")
        heard = ""
        until = self._host.now() + ANSWER_S
        name = command.split()[0]
        while self._host.now() < until:
            heard += self._line.read().decode("ascii", "replace")
            found = re.search(rf"(?:^|{PROMPT}|\n)\s*(ack|error|err)\s+{re.escape(name)}\b([^\n]*)\n", heard)
            if found and found[1] == "ack":
                return heard[found.end() :] if rest else found[2].strip()
            if found or "Command unknown" in heard:
                raise Blocked("meter", f"the {self.sheet.name} refuses {command!r}: bring its firmware up to date.")
            self._host.sleep(0.002)
        self._line.reopen()  # what it still says is not taken for the answer to the next command
        raise Blocked(
            "meter", f"the {self.sheet.name} did not answer {command!r} within {ANSWER_S:g} s: plug it in again."
        )

    def _silence(self) -> None:
        """Throw away what it said unasked.

        Raises:
            Blocked: it does not stop talking.
        """
        until = self._host.now() + ANSWER_S
        while self._line.read():
            self._host.sleep(0.001)
            if self._host.now() > until:
                raise Blocked("meter", f"the {self.sheet.name} does not stop sending: plug it in again.")

    def _stop(self) -> None:
        """Stop, and let what is under way arrive: the next command's answer must not be among it."""
        self._line.write(b"stop\n")
        self._host.sleep(POLL_S)
        self._silence()


def _frequency(hertz: int) -> str:
    return f"{hertz // 1000}k" if hertz >= 1000 else str(hertz)
