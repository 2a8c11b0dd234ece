"""RuiDeng TC66C through its USB serial port: `getva` is answered by one record of what it shows now (sigrok.org/wiki/RDTech_TC66C).

A polled meter of point samples, without an input for the marker: its capture has no edges, and the host dates the readings.
"""

from __future__ import annotations

import numpy as np

from hil.errors import Blocked
from hil.measure.capture import Capture
from hil.measure.data_sheet import DataSheet
from hil.meters.meter import Host, Setting, Spoiled
from hil.meters.serial_line import Line
from hil.meters.tc66c_record import RECORD, name_of, parse

BAUD = 115_200
POLL = b"getva"
ANSWER_S = 1.0
MISSED = 3  # answers in a row that may be missing or broken before the meter counts as gone
SPREAD = (0.5, 1.5)  # of the interval: polls that are commensurate with a step read the same part of it for ever
BEHIND = 1.25  # of the expected window: how long to go on, as nothing tells when it ends


class Tc66c:
    """Args:
        line: the serial port, 115,200 baud.
        sheet: its data sheet.
        host: clock and sleep.

    Raises:
        Blocked: it does not answer, or is another meter.
    """

    def __init__(self, line: Line, sheet: DataSheet, host: Host) -> None:
        self._line, self.sheet, self._host = line, sheet, host
        self._rng = np.random.default_rng()
        line.reopen()
        _, _, record = self._poll()
        self.identity = name_of(record)
        if sheet.identity not in self.identity:
            raise Blocked("meter", f"the meter is {self.identity!r}, not a {sheet.name}: put rig.toml right.")

    def configure(self, setting: Setting) -> None:
        """Take the interval; range and averaging are the meter's own and cannot be set."""
        self._setting = setting
        self._range = self.sheet.range_for(setting.range_a)

    def arm(self) -> None:
        """Begin to read."""
        self._begin = self._host.now()

    def capture(self, deadline_s: float) -> Capture:
        """Poll until the window and its sleep must be over, at intervals that are drawn; `edges` is empty.

        Raises:
            Spoiled: a record is broken, or a reading beyond the range.
            Blocked: it no longer answers.
        """
        setting = self._setting
        length = 2 * setting.idle_s + BEHIND * setting.window_s
        until = self._begin + min(length, deadline_s)
        times, records, missed, in_a_row = [], [], 0, 0
        while self._host.now() < until:
            due = self._host.now() + setting.interval_s * self._rng.uniform(*SPREAD)
            try:
                sent, received, record = self._poll()
            except Blocked:
                missed, in_a_row = missed + 1, in_a_row + 1
                if in_a_row == MISSED:
                    raise
                continue
            in_a_row = 0
            times.append((sent + received) / 2)
            records.append(record)
            self._host.sleep(max(0.0, due - self._host.now()))
        return self._capture(np.array(times), b"".join(records), missed)

    def _capture(self, times: np.ndarray, records: bytes, missed: int) -> Capture:
        read = parse(records)
        if read.broken.any():
            raise Spoiled(f"{int(read.broken.sum())} of {len(times)} records of the {self.sheet.name} have a wrong checksum: measure the window again.")
        if np.max(read.current_a, initial=0.0) > self._range.amperes:
            raise Spoiled(f"the current was beyond the {self._range.amperes:g} A of the {self.sheet.name}.", beyond_range=True)
        return Capture(
            times, read.voltage_v * read.current_a, read.current_a, read.voltage_v, 0.0, self._setting.interval_s, (), self._range.amperes, missed
        )  # fmt: skip

    def close(self) -> None:
        """Let go of the meter."""
        self._line.close()

    def _poll(self) -> tuple[float, float, bytes]:
        """Return when a poll was sent, when it was answered, and the record.

        The port is opened anew after a poll without answer: the late one would pass for the next.
        """
        sent = self._host.now()
        self._line.write(POLL)
        record = b""
        while len(record) < RECORD:
            piece = self._line.read()
            record += piece
            if not piece:
                if self._host.now() - sent > ANSWER_S:
                    self._line.reopen()
                    raise Blocked("meter", f"the {self.sheet.name} sent {len(record)} of {RECORD} bytes within {ANSWER_S:g} s: plug it in again.")
                self._host.sleep(0.001)
        if len(record) > RECORD:
            self._line.reopen()
            raise Blocked("meter", f"the {self.sheet.name} answered twice: end the other program that polls it.")
        return sent, self._host.now(), record
