"""ST X-NUCLEO-LPM01A, the "PowerShield", on its USB serial port (UM2243; UM2269; MLPerf Tiny's runner for its output).

It feeds the board. It sums up energy between two readings (`output energy`), so its readings are means over their
interval. Edges on its Arduino pin D7 are lines among the readings: an edge is up to one reading before or after its
line. Readings are text, at most 5,000 per second for unlimited time (its own `help`). For the faster binary stream, no
format of an edge is published.
"""

from __future__ import annotations

import re

import numpy as np

from hil.energy.capture import Capture, Edge
from hil.energy.data_sheet import DataSheet
from hil.errors import Blocked, RigError
from hil.meters.arrivals import Arrivals, with_unseen
from hil.meters.lpm01a_stream import Stream
from hil.meters.meter import Host, InvalidWindow, Meter, Setting
from hil.meters.serial_line import SerialLine

FREQUENCIES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
VOLTS = (1.8, 3.3)
VOLTAGE = re.compile(r"\b(\d{1,9})([+-]\d{1,2})\b")  # 3300-03: 3300 x 10^-3; more digits are no voltage
PROMPT = "PowerShield >"
ANSWER_S = 6.0  # `volt` ends with a self-calibration
POLL_S = 0.1
FULL = 100  # percent of its buffer
IDLE_KEPT = 0.95  # of the sleep; later readings may belong to something else
STAMPS = 1000  # readings from one time stamp to the next
STAMP_S = 2.0  # longest wait for the time stamp that shows whether readings at the end were lost
EVENTS = ("d7 both", "d7 fal")
PULSES = "its firmware reports only falling edges, so the marker must pulse down at start and end; "
WIRING = "wire the board's marker pin to its pin D7 and close the solder bridge"


class Lpm01a(Meter):
    """An X-NUCLEO-LPM01A on a serial port.

    Args:
        line: the serial port, 3,686,400 baud.
        sheet, host: as in Meter.

    Raises:
        Blocked: it does not answer, or is another device.
    """

    baud = 3_686_400

    def __init__(self, line: SerialLine, sheet: DataSheet, host: Host) -> None:
        super().__init__(sheet, host)
        self._line = line
        line.write(b"\nstop\n")  # ends an incomplete or running command of another program
        self._silence()
        self._take_control()
        self.identity = " ".join(self._query("powershield").split())
        if sheet.identity not in self.identity:
            raise Blocked("meter", f"the meter is {self.identity!r}, not a {sheet.name}: correct rig.toml.")
        self.identity += f", firmware {(self._query('version').split() or ['not told'])[-1]}"

    def configure(self, setting: Setting) -> None:
        """Set everything that a window depends on, because the board's own reset would end the connection.

        Raises:
            RigError: the meter does not have this voltage or range.
        """
        if not VOLTS[0] <= setting.volt <= VOLTS[1]:
            raise RigError(
                f"the {self.sheet.name} feeds {VOLTS[0]:g} to {VOLTS[1]:g} V, not {setting.volt:g} V: "
                "measure with another meter."
            )
        self._setting, self._range = setting, self.sheet.range_for(setting.range_a)
        self.frequency = max((f for f in FREQUENCIES if f * setting.interval_s <= 1.0001), default=FREQUENCIES[0])
        for command in (
            "acqmode dyn", "funcmode optim", "output energy", "format ascii_dec", f"freq {_frequency(self.frequency)}",
            "acqtime inf", "trigsrc sw",
            "trigdelay 0", "currthres 0", "pwrend on", f"volt {round(setting.volt * 1000)}m", "pwr on nostatus",
        ):  # fmt: skip
            self._query(command)
        self.falling_only = self._choose_events() != EVENTS[0]
        found = VOLTAGE.findall(self._query("volt get"))
        self.volt = int(found[-1][0]) * 10.0 ** int(found[-1][1]) if found else 0.0
        if not self.volt:
            raise Blocked("meter", f"the {self.sheet.name} did not return its voltage: plug it in again.")

    def _choose_events(self) -> str:
        """Request both edges, or the falling ones if its firmware reports no others; return what it reports."""
        both, falling = EVENTS
        try:
            self._query(f"eventsrc {both}")
        except Blocked:
            self._query(f"eventsrc {falling}")
            return falling
        return both

    def arm(self) -> None:
        """Start reading: the marker's next edges belong to the window."""
        self._stream = Stream()
        self._arrivals = Arrivals(self.identity, self.sheet.timebase)
        self._stream.feed(self._query("start", rest=True).encode("ascii", "replace"))

    def capture(self, deadline_s: float) -> Capture:
        """Read until the end of the sleep after the second edge, and stop."""
        until = self._host.now() + deadline_s
        try:
            while not self._over():
                if self._host.now() > until:
                    raise self._no_edges(len(self._stream.events), deadline_s, PULSES * self.falling_only + WIRING)
                self._host.sleep(POLL_S)
                self._stream.feed(self._line.read())
                self._arrivals.add(len(self._stream.readings) / self.frequency, self._host.now())
                self._look_for_trouble()
        finally:
            self._stop()
        return self._capture()

    def _over(self) -> bool:
        stream = self._stream
        if len(stream.events) < 2:
            return False
        edge = stream.events[1][1]
        asleep = len(stream.readings) - edge >= IDLE_KEPT * self._setting.idle_s * self.frequency
        return asleep and (self._stamped(edge) or STAMP_S * self.frequency < STAMPS)

    def _stamped(self, edge: int) -> bool:
        """Return whether a time stamp came after the last edge; then the readings up to it are known to be complete."""
        return bool(self._stream.stamps) and self._stream.stamps[-1][1] >= edge

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
            raise InvalidWindow(f"the board drew more than the {self.sheet.name} can deliver.", beyond_range=True)
        if trouble is not None:
            raise InvalidWindow(f"the {self.sheet.name} ended the acquisition ({trouble!r}).")
        if stream.garbled:
            raise InvalidWindow(f"{stream.garbled} readings of the {self.sheet.name} arrived garbled.")
        if stream.fullest >= FULL:
            raise InvalidWindow(f"the buffer of the {self.sheet.name} overflowed: choose fewer readings per second.")

    def _capture(self) -> Capture:
        stream, f = self._stream, self.frequency
        numbers = [number for number, _ in stream.events]
        if len(numbers) != 2 or numbers[1] != numbers[0] + 1:
            raise InvalidWindow(
                f"the {self.sheet.name} reported edges number {', '.join(map(str, numbers))} instead of two in a row."
            )
        lost = stream.lost(f) if self._stamped(stream.events[1][1]) else None
        if lost:
            raise InvalidWindow(f"{lost} readings of the {self.sheet.name} are missing.")
        end = stream.events[1][1] + round(IDLE_KEPT * self._setting.idle_s * f)
        power = np.array(stream.readings[:end]) * f
        if not np.isfinite(power).all() or np.max(power, initial=0.0) > self._range.amperes * self.volt:
            raise InvalidWindow(
                f"a reading was beyond the {self._range.amperes:g} A of the {self.sheet.name}.", beyond_range=True
            )
        edges = tuple(
            Edge(place / f, 1 / f, high) for (_, place), high in zip(stream.events, (True, False), strict=True)
        )
        times, volts = np.arange(len(power)) / f, np.full(len(power), self.volt)
        found = Capture(times, power, power / self.volt, volts, 1 / f, 1 / f, edges, self._range.amperes, lost)
        return with_unseen(found, self._arrivals.unseen(edges[0].t_s, edges[1].t_s))

    def watch(self) -> np.ndarray:
        """Return the power of the readings since the last call, float64[n] in watts; call `arm` first.

        Raises:
            InvalidWindow: the meter ended the acquisition.
        """
        self._stream.feed(self._line.read())
        self._look_for_trouble()
        power = np.array(self._stream.readings) * self.frequency
        self._stream.readings.clear()
        return power

    def close(self) -> None:
        """Release the controls of the meter's own buttons. A board that it feeds stays powered (`pwrend on`)."""
        self._line.write(b"stop\nhrc\n")
        self._line.close()

    # Dialogue: the prompt, then `ack` or `error` with the command, then the reply.

    def _take_control(self) -> None:
        """Take control. The first prompt may spoil the first command, so try twice (seen with firmware 1.0.1)."""
        try:
            self._query("htc")
        except Blocked:
            self._silence()
            self._query("htc")

    def _query(self, command: str, *, rest: bool = False) -> str:
        """Return the text after `ack` and the command in the reply; with `rest`, what came after that line."""
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
        self._line.reopen()  # a late reply must not be taken for the next command's
        raise Blocked(
            "meter", f"the {self.sheet.name} did not answer {command!r} within {ANSWER_S:g} s: plug it in again."
        )

    def _silence(self) -> None:
        """Discard unrequested output.

        Raises:
            Blocked: the output does not stop.
        """
        until = self._host.now() + ANSWER_S
        while self._line.read():
            self._host.sleep(0.001)
            if self._host.now() > until:
                raise Blocked("meter", f"the {self.sheet.name} does not stop sending: plug it in again.")

    def _stop(self) -> None:
        """Stop, and discard what is in transit, so that it is not mixed with the next reply."""
        self._line.write(b"stop\n")
        self._host.sleep(POLL_S)
        self._silence()


def _frequency(hertz: int) -> str:
    return f"{hertz // 1000}k" if hertz >= 1000 else str(hertz)
