"""Serves instruments on a loopback TCP socket, one line a message, as instruments do on their raw socket port."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Callable
from typing import Protocol

from hil.standins.virtual.peer import same_user_only

LONGEST = 1 << 16  # bytes of a line: the longest command of a driver has a few hundred
POLL_S = 0.02  # how soon it sees that it is to end
QUICK = getattr(socket, "TCP_QUICKACK", None)  # of Linux (tcp(7))


class Instrument(Protocol):
    """What carries out a line; text or bytes, without the end of line, or None where there is nothing to say."""

    def execute(self, line: str) -> str | bytes | None: ...


class InstrumentServer:
    """A server for the user of this process only (hil/standins/virtual/peer.py).

    Args:
        instrument: sessions share it, one command line at a time; who sends a line without an end is hung up on.
        log: receives a line about each connection that is refused.
    """

    def __init__(self, instrument: Instrument, log: Callable[[str], None] = lambda line: None) -> None:
        lock = threading.Lock()

        class Session(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                while 0 < len(line := self.rfile.readline(LONGEST + 1)) <= LONGEST:
                    self._acknowledge()
                    with lock:
                        answer = instrument.execute(line.decode("ascii", "replace").strip())
                    if answer is not None:
                        self.wfile.write((answer if isinstance(answer, bytes) else answer.encode("ascii")) + b"\n")

            def _acknowledge(self) -> None:
                """A command without an answer is acknowledged now: the client holds the next one back for it (RFC 896), 40 ms where that waits."""
                if QUICK is not None:
                    self.connection.setsockopt(socket.IPPROTO_TCP, QUICK, 1)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            verify_request = staticmethod(same_user_only(log))

        self._server = Server(("127.0.0.1", 0), Session)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(POLL_S,), name="instrument", daemon=True
        )

    @property
    def resource(self) -> str:
        """The VISA resource name."""
        return f"TCPIP0::127.0.0.1::{self._server.server_address[1]}::SOCKET"

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
