"""FNIRSI FNB58 through its HID port: 100 point samples a second on its own clock, in reports of four.

It has no input for the marker, and its reports have no number: how many are missing is told by the host's clock. It streams only as long
as it is asked to go on once a second.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from hil.errors import Blocked
from hil.measure.capture import Capture
from hil.measure.data_sheet import DataSheet
from hil.meters import fnb58_report as report
from hil.meters.meter import Host, Setting, Spoiled
from hil.meters.optional import library

VENDOR, PRODUCT = 0x2E3C, 0x5558
RATE_HZ = 100
PAUSE_S = 0.025  # between commands: without it the meter crashes (Randomblock1/fnirsi-usb-tool)
GO_ON_S = 1.0
SILENCE_S = 1.0
WAIT_MS = 20
TOLERATED = 12  # samples that host and meter may differ by: three reports under way
BEHIND = 1.25  # of the expected window: how long to go on, as nothing tells when it ends


class HidDevice(Protocol):
    """What is used of hidapi's `hid.device`."""

    def write(self, data: bytes) -> int:
        """Send a report behind its number, 0; return the bytes sent, negative where it failed."""
        ...

    def read(self, max_length: int, timeout_ms: int = 0) -> list[int]:
        """Return a report, or nothing within the time-out."""
        ...

    def get_product_string(self) -> str | None:
        """Return what the USB descriptor calls it."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


def open_fnb58(serial_number: str = "") -> HidDevice:
    """Open the FNB58 that is attached, or the one with a serial number.

    Raises:
        RigError: hidapi is not installed.
        Blocked: there is none, or it may not be opened.
    """
    hid = library("hid", "FNIRSI FNB58", "fnb58")
    device = hid.device()
    try:
        device.open(VENDOR, PRODUCT, serial_number or None)
    except OSError as error:
        raise Blocked("meter", f"the FNIRSI FNB58 cannot be opened ({error}): plug its PC port in, and allow USB device 2e3c:5558 by a udev rule.") from error
    return device  # type: ignore[no-any-return]


class Fnb58:
    """Args:
        device: open.
        sheet: its data sheet.
        host: clock and sleep.
    """

    def __init__(self, device: HidDevice, sheet: DataSheet, host: Host) -> None:
        self._device, self.sheet, self._host = device, sheet, host
        self.identity = self._product()
        if sheet.identity not in self.identity:
            raise Blocked("meter", f"the meter is {self.identity!r}, not a {sheet.name}: put rig.toml right.")

    def _product(self) -> str:
        try:
            return self._device.get_product_string() or ""
        except OSError as error:
            raise self._gone(error) from error

    def configure(self, setting: Setting) -> None:
        """Take the lengths; its rate and its range are its own."""
        self._setting = setting
        self._range = self.sheet.range_for(setting.range_a)

    def arm(self) -> None:
        """Empty what is left over, and let it stream."""
        while self._read():
            pass
        for kind in (report.HELLO, report.BEGIN, report.BEGIN):
            self._write(kind)
            self._host.sleep(PAUSE_S)
        self._begin = self._asked = self._host.now()

    def capture(self, deadline_s: float) -> Capture:
        """Read until the window and its sleep must be over; `edges` is empty.

        Raises:
            Spoiled: samples are missing, a checksum is wrong, or a sample beyond the range.
            Blocked: it fell silent.
        """
        setting = self._setting
        until = self._begin + min(2 * setting.idle_s + BEHIND * setting.window_s, deadline_s)
        reports: list[bytes] = []
        first = last = self._begin
        while self._host.now() < until:
            if self._host.now() - self._asked >= GO_ON_S:
                self._write(report.GO_ON)
                self._asked = self._host.now()
            data = self._read()
            now = self._host.now()
            if report.is_data(data):
                reports.append(data)
                first, last = (first if len(reports) > 1 else now), now
            elif now - last > SILENCE_S:
                raise Blocked("meter", f"the {self.sheet.name} has sent no samples for {SILENCE_S:g} s: plug it in again.")
            elif not data:
                self._host.sleep(0.005)
        return self._capture(reports, first, last)

    def _capture(self, reports: list[bytes], first: float, last: float) -> Capture:
        broken = sum(not report.is_whole(one) for one in reports)
        if broken:
            raise Spoiled(f"{broken} of {len(reports)} reports of the {self.sheet.name} have a wrong checksum.")
        volts, amps = report.samples(b"".join(reports))
        # The first report came at `first` with four samples in it, so the others are what the time since then holds.
        lost = round((last - first) * RATE_HZ) - (len(amps) - report.SAMPLES)
        if lost > TOLERATED:
            raise Spoiled(f"about {lost} samples of the {self.sheet.name} are missing.")
        if np.max(amps, initial=0.0) > self._range.amperes:
            raise Spoiled(f"the current was beyond the {self._range.amperes:g} A of the {self.sheet.name}.", beyond_range=True)
        times = first + (np.arange(len(amps)) - (report.SAMPLES - 1)) / RATE_HZ
        return Capture(times, volts * amps, amps, volts, 0.0, 1 / RATE_HZ, (), self._range.amperes, 0)

    def close(self) -> None:
        """Let go of it: it ends its stream by itself."""
        self._device.close()

    def _read(self) -> bytes:
        try:
            return bytes(self._device.read(report.REPORT, WAIT_MS))
        except (OSError, ValueError) as error:
            raise self._gone(error) from error

    def _write(self, kind: int) -> None:
        try:
            sent = self._device.write(b"\0" + report.command(kind))
        except (OSError, ValueError) as error:
            raise self._gone(error) from error
        if sent < 0:
            raise self._gone("it takes no report")

    def _gone(self, why: object) -> Blocked:
        return Blocked("meter", f"the {self.sheet.name} is gone ({why}): plug its PC port in again.")
