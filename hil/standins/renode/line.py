"""The board's serial line: connects a pseudo-terminal for the rig to Renode's terminal, which is a TCP socket.

Renode can open a pseudo-terminal itself, but needs a task of its thread pool for every byte: 11 to 20 kB/s
(docs/renode.md).
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


class RenodeLine:
    """A permanent pseudo-terminal, and a connection to the terminal of the current machine.

    Attributes:
        path: path of the device for the rig to open.
    """

    def __init__(self) -> None:
        self._master, self._slave = os.openpty()  # the slave stays open while clients open and close the device
        os.fchmod(self._slave, 0o600)  # without access for the group `tty`, whose programs write to terminals of others
        tty.setraw(self._slave)
        os.set_blocking(self._master, False)
        self.path = os.ttyname(self._slave)
        self._terminal: socket.socket | None = None
        self._to_board = self._to_host = b""

    def connect(self, port: int) -> None:
        """Connect to a terminal of Renode on a loopback port, and drop bytes to and from the previous machine.

        Raises:
            OSError: the connection failed, for example because nothing listens on the port.
        """
        self.disconnect()
        self._terminal = socket.create_connection(("127.0.0.1", port), timeout=CONNECT_S)
        self._terminal.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._terminal.setblocking(False)

    def disconnect(self) -> None:
        """Disconnect from Renode's terminal and drop all bytes that are not delivered."""
        if self._terminal is not None:
            self._terminal.close()
        self._terminal = None
        self._to_board = self._to_host = b""
        termios.tcflush(self._slave, termios.TCIOFLUSH)
        with contextlib.suppress(BlockingIOError):  # bytes that the flush does not reach: they are on the master's side
            while os.read(self._master, CHUNK):
                pass

    def carry(self, also: int, within_s: float) -> bool:
        """Wait for one event and move bytes in both directions.

        While one end does not accept its bytes, nothing more is read from the other end.

        Args:
            also: another file descriptor to wait for.
            within_s: timeout in seconds.

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
                    self.disconnect()  # Renode is ending: the end of its process is noticed elsewhere
        except OSError:
            self.disconnect()

    def close(self) -> None:
        """Disconnect and close the pseudo-terminal."""
        with contextlib.suppress(OSError):
            self.disconnect()
        os.close(self._master)
        os.close(self._slave)
