"""The board's serial line: a pseudo-terminal for the rig, and at its other end the terminal that Renode offers as a TCP socket.

Renode can open a pseudo-terminal itself, but takes one byte from it per task of its thread pool: 11 to 20 kB/s (docs/renode.md).
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import termios
import tty

CHUNK = 4096
CONNECT_S = 10.0


class Line:
    """A pseudo-terminal that stays, and a connection to the terminal of the present machine.

    Attributes:
        path: the device for the rig to open.
    """

    def __init__(self) -> None:
        self._master, self._slave = os.openpty()  # the slave stays open, so that a client may come and go
        os.fchmod(
            self._slave, 0o600
        )  # the group `tty`, in whose name programs write to terminals of others, has no business here
        tty.setraw(self._slave)
        os.set_blocking(self._master, False)
        self.path = os.ttyname(self._slave)
        self._terminal: socket.socket | None = None
        self._to_board = self._to_host = b""

    def connect(self, port: int) -> None:
        """Connect to a terminal of Renode on the loopback address; what was on its way to or from the machine before is dropped.

        Raises:
            OSError: nobody listens there.
        """
        self.disconnect()
        self._terminal = socket.create_connection(("127.0.0.1", port), timeout=CONNECT_S)
        self._terminal.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._terminal.setblocking(False)

    def disconnect(self) -> None:
        """Leave the terminal of a machine that is to go."""
        if self._terminal is not None:
            self._terminal.close()
        self._terminal = None
        self._to_board = self._to_host = b""
        termios.tcflush(self._slave, termios.TCIOFLUSH)
        with contextlib.suppress(BlockingIOError):  # what the kernel has handed over already
            while os.read(self._master, CHUNK):
                pass

    def carry(self, also: int, within_s: float) -> bool:
        """Carry bytes in both directions until something has happened; what one end does not take yet keeps the other end waiting.

        Args:
            also: a file descriptor to watch meanwhile.
            within_s: how long to wait at most.

        Returns:
            Whether `also` can be read.
        """
        reads: list[int | socket.socket] = [also]
        writes: list[int | socket.socket] = [self._master] if self._to_host else []
        if self._terminal is not None:
            (writes if self._to_board else reads).append(self._terminal if self._to_board else self._master)
            if not self._to_host:
                reads.append(self._terminal)
        readable, writable, _ = select.select(reads, writes, [], within_s)
        if self._master in readable:
            self._to_board = os.read(self._master, CHUNK)
        if self._master in writable:
            self._to_host = self._to_host[os.write(self._master, self._to_host) :]
        if self._terminal is not None:
            self._exchange(self._terminal, self._terminal in readable, self._terminal in writable)
        return also in readable

    def _exchange(self, terminal: socket.socket, readable: bool, writable: bool) -> None:
        try:
            if writable:
                self._to_board = self._to_board[terminal.send(self._to_board) :]
            if readable:
                self._to_host = terminal.recv(CHUNK)
                if not self._to_host:
                    self.disconnect()  # Renode is ending, and its process will say so
        except OSError:
            self.disconnect()

    def close(self) -> None:
        """End the line."""
        with contextlib.suppress(OSError):
            self.disconnect()
        os.close(self._master)
        os.close(self._slave)
