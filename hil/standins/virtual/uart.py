"""The serial port of the virtual board: a pseudo-terminal connected to the chip's UART."""

from __future__ import annotations

import fcntl
import os
import select
import termios
import threading
import time
import tty
from collections import deque
from collections.abc import Callable

_CHUNK = 4096
_SETTLE_S, _DRAIN_S, _DRAIN_POLL_S = 0.05, 1.0, 0.005
_HELD_BYTES = 1 << 20  # bytes kept for a host that does not read; a real adapter drops bytes far earlier


class SerialPort:
    """A pseudo-terminal, served by its own thread.

    Args:
        on_data: called on the port's thread after bytes from the host were appended to `received`.
        log: receives one line when bytes are dropped.

    Attributes:
        path: path of the device to open.
        received: byte strings from the host, oldest first; the chip's thread removes them.
    """

    def __init__(self, on_data: Callable[[], None], log: Callable[[str], None]) -> None:
        self._on_data = on_data
        self._log = log
        self._master, self._slave = os.openpty()  # the slave stays open while clients open and close the device
        os.fchmod(self._slave, 0o600)  # without access for the group `tty`, whose programs write to terminals of others
        tty.setraw(self._slave)
        os.set_blocking(self._master, False)
        self.path = os.ttyname(self._slave)
        self.received: deque[bytes] = deque()
        self._to_host: deque[bytes | None] = deque()  # None: close the port at this point
        self._held = 0
        self._wake_read, self._wake_write = os.pipe()
        self._room = threading.Event()
        self._room.set()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="serial", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def full(self) -> bool:
        """Whether what is sent now is dropped, because the host does not read. Any thread may call this."""
        return self._held > _HELD_BYTES

    def send(self, data: bytes) -> None:
        """Queue bytes for the host without waiting. Any thread may call this."""
        if self.full:
            self._log(f"serial port: {len(data)} bytes dropped, the host does not read")
            return
        self._held += len(data)
        self._to_host.append(data)
        self._wake()

    def accept_more(self, more: bool) -> None:
        """Read from the host, or leave its bytes in the terminal."""
        if more != self._room.is_set():
            (self._room.set if more else self._room.clear)()
            self._wake()

    def disconnect(self) -> None:
        """Remove the device after its client has read what was sent before. Any thread may call this."""
        self._to_host.append(None)
        self._wake()

    def close(self) -> None:
        """End the port and its thread."""
        self._closing = True
        self._wake()
        self._thread.join()

    def _wake(self) -> None:
        os.write(self._wake_write, b"\0")

    def _run(self) -> None:
        pending: bytes | None = b""
        while not self._closing:
            if not pending and self._to_host:
                pending = self._to_host.popleft()
            if pending is None:
                self._wait_until_read()
                break
            wanted = [self._wake_read] + ([self._master] if self._room.is_set() else [])
            readable, writable, _ = select.select(wanted, [self._master] if pending else [], [])
            if self._wake_read in readable:
                os.read(self._wake_read, _CHUNK)
            if self._master in readable:
                self._take()
            if writable:
                sent = os.write(self._master, pending)
                self._held -= sent
                pending = pending[sent:]
        os.close(self._master)
        os.close(self._slave)

    def _wait_until_read(self) -> None:
        # Closing the terminal discards bytes that its client has not read. The kernel counts them after a short delay.
        time.sleep(_SETTLE_S)
        deadline = time.monotonic() + _DRAIN_S
        unread = bytearray(4)
        while time.monotonic() < deadline:
            fcntl.ioctl(self._slave, termios.FIONREAD, unread)
            if not any(unread):
                return
            time.sleep(_DRAIN_POLL_S)

    def _take(self) -> None:
        data = os.read(self._master, _CHUNK)
        if data:
            self.received.append(data)
            self._on_data()
