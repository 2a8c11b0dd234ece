"""Servers of serial ports for tests: pyserial's own RFC 2217 server with its loop as the board, and one that does as a test says."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

import serial
import serial.rfc2217

Serve = Callable[[socket.socket], None]


class Client:
    """The connection of a client, as pyserial's port manager writes to it."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def write(self, data: bytes) -> None:
        """Send bytes."""
        self._connection.sendall(data)


def rfc2217_loop(connection: socket.socket) -> None:
    """Serve a port whose board sends back what it gets."""
    board = serial.serial_for_url("loop://", timeout=0)
    manager = serial.rfc2217.PortManager(board, Client(connection))
    with contextlib.suppress(OSError):
        while data := connection.recv(4096):
            board.write(b"".join(manager.filter(data)))
            while board.in_waiting:
                connection.sendall(b"".join(manager.escape(board.read(board.in_waiting))))
    board.close()


@contextlib.contextmanager
def serving(serve: Serve) -> Iterator[str]:
    """Serve one client after another in a thread; yield `host:port`."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection, contextlib.suppress(OSError):
                        serve(connection)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
    thread.join(10)
