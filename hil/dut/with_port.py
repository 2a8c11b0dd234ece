"""The serial port of a device under test: opened when it is first needed, also if its firmware makes it."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Collection, Iterator
from typing import Any

from hil.dut.caught import each_remembered, remembered
from hil.dut.dut_serial import DutSerial
from hil.dut.inspection import Inspection
from hil.dut.printed import Dtypes, lines
from hil.errors import Blocked, RigError
from hil.link.received_words import words
from hil.steady_clock import steady_s
from hil.targets.line_faults import line_faults
from hil.targets.serial_port import (
    BACK_WITHIN_S,
    SerialPort,
    close_and_discard,
    come_back,
    open_serial,
    path_of,
)

REOPENED = "the serial port was gone soon after flashing or a reset, and was opened again: what came meanwhile is lost."


class WithPort(Inspection):
    """What a device has on its serial port; that of a command is its standard input and output."""

    _baud: int
    _logs: bool
    _started_at = -math.inf  # the last flashing or reset
    _port_released = False

    def _discard(self) -> None:
        """Open the port, so that nothing is lost which the program prints first, and discard what came before.

        A port that is away may be one that firmware makes, and comes back after the reset.
        """
        away = (Blocked,) if self._is_attached else ()
        with contextlib.suppress(*away):
            if self.has_port:
                serial = self._serial_now()
                serial.discard_run()
                serial.begin_output()

    @property
    def _is_attached(self) -> bool:
        return self._taken.endpoints.reality == "hardware"

    @property
    @remembered
    def serial(self) -> DutSerial:
        """The serial port, opened when it is first needed. Raises Blocked if there is none."""
        return self._serial_now()

    def _serial_now(self) -> DutSerial:
        self._check_in_time()
        if self._serial is None:
            log, ends = self._folder / "serial.log" if self._logs else None, self._taken.endpoints
            line = self._is_attached and ends.has_line
            self._serial = DutSerial(
                self._open_port(keep=self._taken.is_new), log, self.alive, self._taken.lost_s, self._look,
                self._port_again, simulated=not line, rated=line, waits=self._waits,
                console=open_serial(ends.console, self._baud) if ends.console and ends.has_line else None,
                raised=self.raised,
            )  # fmt: skip
            for said in line_faults(str(self._serial.pyserial.port)) if line else ():
                self.record.warn(said)
            has_rate = ends.has_line and not self._taken.is_command
            self.record.serial_log, self.record.baud = log, self._baud if has_rate else None
        elif self._port_released:
            self._serial.replace_port(self._open_port(), released=True)
        self._port_released = False
        return self._serial

    @property
    def _open_serial(self) -> DutSerial | None:
        """The serial port if it is open."""
        return None if self._port_released else self._serial

    def _release_port(self) -> None:
        if self._serial is not None:
            if not self._port_released:
                self._serial.keep_unseen()
            close_and_discard(self._serial.pyserial)
            self._port_released = True

    def _open_port(self, keep: bool = False) -> SerialPort:
        """Open the port; wait for it if the board was flashed or reset just now, as its firmware may make it.

        With `keep`, what the program has printed so far is not discarded.
        """
        left_s, ends = self._started_at + BACK_WITHIN_S - steady_s(), self._taken.endpoints
        if left_s > 0 and self._is_attached and ends.has_line:
            return come_back(ends, self._baud, "flashing or a reset", left_s)
        return open_serial(self._port_path(), self._baud, self._taken.lost_s, keep)

    def _port_path(self) -> str:
        """Return the path of the port, or of the console by semihosting, if there is no port."""
        ends = self._taken.endpoints
        return ends.console if ends.console is not None and not ends.has_line else path_of(ends)

    def _port_again(self, port: SerialPort) -> SerialPort | None:
        """Return the port of a device that was gone and came back after flashing or a reset; None if it must not go."""
        if not self._is_attached or steady_s() - self._started_at > BACK_WITHIN_S:
            return None
        close_and_discard(port)
        again = come_back(self._taken.endpoints, port.baudrate, "flashing or a reset")
        self.record.warn(REOPENED)
        return again

    @property
    def has_port(self) -> bool:
        """Whether there is a serial port, or a console by semihosting in its place."""
        ends = self._taken.endpoints
        return ends.has_line or ends.console is not None

    @property
    def opened_serial(self) -> DutSerial | None:
        """The serial port if it was opened, also after the end; None if it was not needed, or there is none."""
        return self._serial

    def _last_words(self) -> str:
        with contextlib.suppress(RigError):  # the port may be gone
            last = self._serial.arrived() if self._serial is not None else b""
            return f"its last words are {words(last)}" if last else ""
        return ""

    @remembered
    def lines(
        self, pattern: str, count: int | None = None, until: str | None = None, timeout: float | None = -1,
        dtypes: Dtypes | None = None, bits: Collection[str] = (), error: str | None = None,
    ) -> Iterator[Any]:  # fmt: skip
        """Iterate over the lines that the device prints and that have a pattern in them (`hil.dut.printed.lines`)."""
        return each_remembered(self, lines(self.serial, pattern, count, until, timeout, dtypes, bits, error))
