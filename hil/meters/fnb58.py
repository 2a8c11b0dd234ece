"""FNIRSI FNB58 through its HID port: 100 point samples per second on its own clock, in reports of four.

It has no marker input, and its reports have no number. The host dates the stream, calculates how many samples are
missing, and marks the window. The meter streams only as long as it gets a command to continue every second.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from hil.energy.capture import Capture
from hil.energy.data_sheet import DataSheet
from hil.energy.edge_search import Stamped
from hil.errors import Blocked
from hil.meters import fnb58_report as report
from hil.meters.host_marked_window import HostMarkedWindow
from hil.meters.meter import Host, InvalidWindow, Meter, Setting
from hil.optional_library import library

VENDOR, PRODUCT = 0x2E3C, 0x5558
RATE_HZ = 100
PAUSE_S = 0.025  # between commands; without it the meter crashes (Randomblock1/fnirsi-usb-tool)
GO_ON_S = 1.0
SILENCE_S = 1.0
WAIT_MS = 20
TOLERATED = 12  # samples by which host and meter may differ: three reports in transit


def open_fnb58(serial_number: str = "") -> Any:
    """Open the only FNB58 that is attached, or the one with a serial number; return hidapi's `hid.device`.

    Raises:
        RigError: hidapi is not installed.
        Blocked: there is none, or access is denied.
    """
    hid = library("hid", "FNIRSI FNB58", "fnb58")
    device = hid.device()
    try:
        device.open(VENDOR, PRODUCT, serial_number or None)
    except OSError as error:
        raise Blocked(
            "meter",
            f"the FNIRSI FNB58 cannot be opened ({error}): plug its PC port in, "
            "and allow USB device 2e3c:5558 by a udev rule.",
        ) from error
    return device


class Fnb58(Meter):
    """An FNB58 over HID.

    Args:
        device: what `open_fnb58` returned.
        sheet, host: as in Meter.
    """

    def __init__(self, device: Any, sheet: DataSheet, host: Host) -> None:
        super().__init__(sheet, host)
        self._device = device
        self._window = HostMarkedWindow(host, sheet.name)
        self.mark = self._window.mark
        with self._attached():
            self.identity = device.get_product_string() or ""
        if sheet.identity not in self.identity:
            raise Blocked("meter", f"the meter is {self.identity!r}, not a {sheet.name}: correct rig.toml.")

    def configure(self, setting: Setting) -> None:
        """Set the lengths of the window; rate and range are fixed by the meter."""
        self._window.setting = setting
        self._range = self.sheet.range_for(setting.range_a)

    def arm(self) -> None:
        """Discard old reports and start the stream."""
        while self._read():
            pass
        for kind in (report.HELLO, report.BEGIN, report.BEGIN):
            self._write(kind)
            self._host.sleep(PAUSE_S)
        self._asked = self._host.now()
        self._window.arm()

    def capture(self, deadline_s: float) -> Capture:
        """Read until the host has its reply (`mark`), or until the expected end of the window.

        Raises:
            InvalidWindow: missing samples, a wrong checksum, a sample beyond the range, or edges that cannot be found.
            Blocked: the meter went silent, or the deadline passed.
        """
        began = last = self._host.now()
        reports: list[bytes] = []
        arrivals: list[float] = []
        while not self._window.over(began, deadline_s):
            self._go_on()
            data = self._read()
            now = self._host.now()
            if report.is_data(data):
                reports.append(data)
                arrivals.append(now)
                last = now
            elif now - last > SILENCE_S:
                raise self._silent(SILENCE_S)
        if not reports:
            raise InvalidWindow("the window was over before the first sample.")
        return self._capture(reports, np.array(arrivals))

    def _capture(self, reports: list[bytes], arrivals: np.ndarray) -> Capture:
        broken = sum(not report.is_whole(one) for one in reports)
        if broken:
            raise InvalidWindow(f"{broken} of {len(reports)} reports of the {self.sheet.name} have a wrong checksum.")
        volts, amps = report.samples(b"".join(reports))
        lost = round((arrivals[-1] - arrivals[0]) * RATE_HZ) - report.SAMPLES * (len(reports) - 1)
        if lost > TOLERATED:
            raise InvalidWindow(f"about {lost} samples of the {self.sheet.name} are missing.")
        self._require_on_range(amps, self._range.amperes)
        number = np.arange(len(amps))
        # No report arrives before its last sample.
        late = arrivals - number[report.SAMPLES - 1 :: report.SAMPLES] / RATE_HZ
        stamped = Stamped(
            number / RATE_HZ + late.min(), volts * amps, np.full(len(amps), float(np.ptp(late)) + 1 / RATE_HZ), 0.0
        )
        capture = self._window.capture(stamped, (amps, volts), 1 / RATE_HZ, self._range.amperes, 0)
        return replace(capture, temperature_c=float(np.mean(report.degrees(b"".join(reports)))))

    def watch(self) -> np.ndarray:
        """Return the power of the samples since the last call, float64[n] in watts; call `arm` first."""
        self._go_on()
        arrived = list(iter(self._read, b""))
        volts, amps = report.samples(b"".join(one for one in arrived if report.is_data(one) and report.is_whole(one)))
        watts: np.ndarray = volts * amps
        return watts

    def close(self) -> None:
        """Close the device; its stream ends by itself."""
        self._device.close()

    def _go_on(self) -> None:
        """Ask the meter to continue, if it is time."""
        if self._host.now() - self._asked >= GO_ON_S:
            self._write(report.GO_ON)
            self._asked = self._host.now()

    def _read(self) -> bytes:
        with self._attached():
            return bytes(self._device.read(report.REPORT, WAIT_MS))

    def _write(self, kind: int) -> None:
        with self._attached():
            if self._device.write(b"\0" + report.command(kind)) < 0:
                raise OSError("it accepts no report")

    @contextlib.contextmanager
    def _attached(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:
            raise Blocked("meter", f"the {self.sheet.name} is gone ({error}): plug its PC port in again.") from error
