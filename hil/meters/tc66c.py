"""RuiDeng TC66C on its USB serial port: it answers `getva` with a record of its display (sigrok.org/wiki/RDTech_TC66C).

A polled meter of point samples without a marker input: the host dates the readings and marks the window.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from hil.energy.capture import Capture
from hil.energy.data_sheet import DataSheet
from hil.energy.edge_search import Stamped
from hil.errors import Blocked
from hil.meters.host_marked_window import HostMarkedWindow
from hil.meters.meter import Host, InvalidWindow, Meter, Setting
from hil.meters.polling import Poller
from hil.meters.serial_line import SerialLine
from hil.meters.tc66c_record import RECORD, Tc66cReadings, name_of, parse

POLL = b"getva"
ANSWER_S = 1.0
STEP_S = 0.002  # between two reads while waiting for a reply
MISSED = 3  # polls in a row without a reply; then the meter counts as gone


class Tc66c(Meter):
    """A TC66C on a serial port.

    Args:
        line: the serial port, 115,200 baud.
        sheet, host: as in Meter.
        seed: of the random intervals between polls (hil/meters/polling.py).

    Raises:
        Blocked: it does not answer, or is another meter.
    """

    baud = 115_200

    def __init__(self, line: SerialLine, sheet: DataSheet, host: Host, *, seed: int = 0) -> None:
        super().__init__(sheet, host)
        self._line = line
        self._poller, self._window = Poller(host, seed=seed), HostMarkedWindow(host, sheet.name)
        self.mark = self._window.mark
        line.reopen()
        self.identity = name_of(self._poll()[2])
        if sheet.identity not in self.identity:
            raise Blocked("meter", f"the meter is {self.identity!r}, not a {sheet.name}: correct rig.toml.")

    def configure(self, setting: Setting) -> None:
        """Set the interval; range and averaging are fixed by the meter."""
        self._window.setting = setting
        self._range = self.sheet.range_for(setting.range_a)

    def arm(self) -> None:
        """Start a window."""
        self._window.arm()

    def capture(self, deadline_s: float) -> Capture:
        """Poll until the host has its reply (`mark`), or until the expected end of the window.

        Raises:
            InvalidWindow: a damaged record, a reading beyond the range, or edges that cannot be found.
            Blocked: it no longer answers, or the deadline passed.
        """
        began, interval_s = self._host.now(), self._window.setting.interval_s
        records: list[bytes] = []
        polls = self._poller.run(
            partial(self._poll_power, records), interval_s, lambda: self._window.over(began, deadline_s)
        )
        read = self._read(records)
        amps, volts = read.current_a, read.voltage_v
        self._require_on_range(amps, self._range.amperes)
        stamped = Stamped(polls.t_s, amps * volts, polls.half_s, 0.0)
        capture = self._window.capture(stamped, (amps, volts), interval_s, self._range.amperes, polls.lost)
        return replace(capture, temperature_c=float(np.mean(read.temperature_c)))

    def _poll_power(self, records: list[bytes]) -> tuple[float, float, list[float]]:
        """Poll once. Records are decrypted later, because one takes as long as those of a whole window."""
        for attempt in range(MISSED):
            try:
                sent, received, record = self._poll()
                break
            except Blocked:
                if attempt == MISSED - 1:
                    raise
        records.append(record)
        return sent, received, []

    def _read(self, records: list[bytes]) -> Tc66cReadings:
        """Return the readings in records; raise InvalidWindow if one is damaged."""
        read = parse(b"".join(records))
        if np.any(read.broken):
            raise InvalidWindow(f"a record of the {self.sheet.name} has a wrong checksum.")
        return read

    def watch(self) -> np.ndarray:
        """Return the power of a reading made now, float64[1] in watts."""
        records: list[bytes] = []
        self._poll_power(records)
        read = self._read(records)
        watts: np.ndarray = read.current_a * read.voltage_v
        return watts

    def close(self) -> None:
        """Close the line to the meter."""
        self._line.close()

    def _poll(self) -> tuple[float, float, bytes]:
        """Return the times of a poll and of its reply, and the record.

        A late reply would be taken for the next one. So the port is reopened after a poll without a reply, and what
        arrived before the next poll is discarded.
        """
        self._line.discard()
        sent = self._host.now()
        self._line.write(POLL)
        record = b""
        while len(record) < RECORD:
            piece = self._line.read()
            record += piece
            if not piece:
                if self._host.now() - sent > ANSWER_S:
                    self._line.reopen()
                    raise Blocked(
                        "meter",
                        f"the {self.sheet.name} sent {len(record)} of {RECORD} bytes within {ANSWER_S:g} s: "
                        "plug it in again.",
                    )
                self._host.sleep(STEP_S)
        if len(record) > RECORD:
            self._line.reopen()
            raise Blocked("meter", f"the {self.sheet.name} answered twice: end the other program that polls it.")
        return sent, self._host.now(), record
