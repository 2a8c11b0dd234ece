"""The pseudo-terminal behind a USB serial port: who has it open, its baud rate, and bytes both ways with flow control.

While no program has the port open, the terminal reports a hang-up (poll(2), POLLHUP).
"""

from __future__ import annotations

import os
import select
import termios
import threading
import tty
from collections.abc import Callable

_CHUNK = 4096
_LOOK_MS = 10  # between two looks whether a program has opened or closed the port, or has changed its baud rate
_ENOUGH, _HELD = 8192, 1 << 16  # bytes queued for the device, and for a program that does not read
_SPEEDS = {getattr(termios, name): int(name[1:]) for name in dir(termios) if name[:1] == "B" and name[1:].isdigit()}


class PtyTerminal:
    """A pseudo-terminal, served by its own thread; a `Terminal` of `cdc`.

    Args:
        on_change: called on that thread after bytes have come, or the port was opened, closed or read.

    Attributes:
        path: path of the device to open.
    """

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self._master, slave = os.openpty()
        os.fchmod(slave, 0o600)  # as in uart.SerialPort
        tty.setraw(slave)
        self.path = os.ttyname(slave)
        os.close(slave)
        os.set_blocking(self._master, False)
        self._lock = threading.Lock()
        self._received, self._outgoing = bytearray(), bytearray()
        self.is_open = False
        self.baud = 0
        self._wake_read, self._wake_write = os.pipe()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="usb serial", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Remove the device: a program that has it open finds it gone, as after an unplugged cable."""
        self._closing = True
        self._wake()
        self._thread.join()

    # Terminal, on the chip's thread

    @property
    def room(self) -> bool:
        return len(self._outgoing) < _HELD

    def take(self, most: int) -> bytes:
        with self._lock:
            data = bytes(self._received[:most])
            del self._received[:most]
        if data and len(self._received) < _ENOUGH <= len(self._received) + len(data):
            self._wake()
        return data

    def give(self, data: bytes) -> None:
        with self._lock:
            self._outgoing += data
        self._wake()

    def _wake(self) -> None:
        os.write(self._wake_write, b"\0")

    # the port's thread

    def _run(self) -> None:
        while not self._closing:
            events = self._events()
            changed = self._look(not events & select.POLLHUP)
            if events & select.POLLIN:
                changed |= self._read()
            if events & select.POLLOUT:
                changed |= self._write()
            if changed:
                self._on_change()
        for end in (self._master, self._wake_read, self._wake_write):
            os.close(end)

    def _events(self) -> int:
        """Wait for something to do at the terminal, at most for `_LOOK_MS`, and return it."""
        wanted = (select.POLLIN if len(self._received) < _ENOUGH else 0) | (select.POLLOUT if self._outgoing else 0)
        terminal, wake = select.poll(), select.poll()
        terminal.register(self._master, wanted)
        wake.register(self._wake_read, select.POLLIN)
        events = self._now(terminal)
        if not events & (select.POLLIN | select.POLLOUT):
            if not events & select.POLLHUP:  # else it would return at once
                wake.register(self._master, wanted)
            if any(end == self._wake_read for end, _ in wake.poll(_LOOK_MS)):
                os.read(self._wake_read, _CHUNK)
            events = self._now(terminal)
        return events

    @staticmethod
    def _now(poller: select.poll) -> int:
        return next((events for _, events in poller.poll(0)), 0)

    def _look(self, is_open: bool) -> bool:
        """Note who has the port open and its baud rate; return whether that has changed."""
        before = self.is_open, self.baud
        if is_open:
            self.baud = _SPEEDS.get(termios.tcgetattr(self._master)[5], self.baud)
        elif self._outgoing:
            with self._lock:
                self._outgoing.clear()  # nobody reads it any more
        self.is_open = is_open
        return before != (self.is_open, self.baud)

    def _read(self) -> bool:
        try:
            data = os.read(self._master, _CHUNK)
        except OSError:  # hung up in between
            return False
        with self._lock:
            self._received += data
        return bool(data)

    def _write(self) -> bool:
        with self._lock:
            data = bytes(self._outgoing[:_CHUNK])
        try:
            sent = os.write(self._master, data)
        except OSError:
            return False
        with self._lock:
            del self._outgoing[:sent]
        return True
