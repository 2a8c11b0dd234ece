"""A wire of messages that end in a line feed (pyOCD's remote probes, SCPI on a socket) between the rig and a bench, and what may happen to it."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable

from .port import LOOK_S, OURS

Change = Callable[[bytes], bytes]


class Wire:
    """A server on loopback that passes each request on, and each answer back.

    Args:
        port: of the bench's own server.
        count: is called for each request, before it is passed on.

    Attributes:
        port: of this one.
        silent: while set answers wait.
        change: what becomes of answers; None where they are passed on as they are.
    """

    def __init__(self, port: int, count: Callable[[], object]) -> None:
        self._to, self._count = port, count
        self.silent = threading.Event()
        self.change: Change | None = None
        self._ends: list[socket.socket] = []
        self._server: socket.socket | None = None
        self._held = _bound(0)  # it never listens: while the server is gone the port must be nobody else's
        self.port: int = self._held.getsockname()[1]
        self.back()

    def back(self) -> None:
        """Take connections, on the same port as before."""
        if self._server is None:
            server = self._server = _bound(self.port)
            server.listen()
            threading.Thread(target=self._accept, args=(server,), name=OURS, daemon=True).start()

    def gone(self) -> None:
        """End every connection, and take none."""
        server, self._server = self._server, None
        if server is not None:
            _end(server)
        self.hang_up()

    def close(self) -> None:
        """End every connection, and give the port back."""
        self.gone()
        self._held.close()

    def hang_up(self) -> None:
        """End every connection, and take new ones."""
        ends, self._ends = self._ends, []
        for each in ends:
            _end(each)

    def _accept(self, server: socket.socket) -> None:
        while True:
            try:
                theirs, _ = server.accept()
            except OSError:
                return
            try:
                ours = socket.create_connection(("127.0.0.1", self._to))
            except OSError:  # the bench is gone
                theirs.close()
                continue
            self._ends += [theirs, ours]
            for one in (theirs, ours):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._pass, args=(theirs, ours, True), name=OURS, daemon=True).start()
            threading.Thread(target=self._pass, args=(ours, theirs, False), name=OURS, daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket, asks: bool) -> None:
        rest = b""
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    if asks:
                        self._count()
                    else:
                        while self.silent.is_set():
                            time.sleep(LOOK_S)
                        line = line if self.change is None else self.change(line)
                    sink.sendall(line + b"\n")
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)


def _bound(port: int) -> socket.socket:
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", port))
    return server


def _end(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
