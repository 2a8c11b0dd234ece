"""Serves an instrument on a loopback TCP socket: one line for each message, like the raw socket port of instruments."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Callable
from typing import Any, Protocol

from hil.standins.virtual.peer import same_user_only

LONGEST = 1 << 16  # bytes of a line; the longest command of a driver has a few hundred
POLL_S = 0.1  # interval at which the server checks whether it should end
QUICK = getattr(socket, "TCP_QUICKACK", None)  # Linux only (tcp(7))


class Instrument(Protocol):
    """Executes a line; returns text or bytes without the end of line, or None if there is no answer."""

    def execute(self, line: str) -> str | bytes | None: ...


class InstrumentServer:
    """A server for connections of this process's user only (hil/standins/virtual/peer.py).

    A line of more than LONGEST bytes closes its connection.

    Args:
        instrument: all connections share it and execute one line at a time.
        log: receives one line for each refused connection.
    """

    def __init__(self, instrument: Instrument, log: Callable[[str], None] = lambda line: None) -> None:
        lock, accepts = threading.Lock(), same_user_only(log)

        class Connection(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                while 0 < len(line := self.rfile.readline(LONGEST + 1)) <= LONGEST:
                    self._acknowledge()
                    with lock:
                        answer = instrument.execute(line.decode("ascii", "replace").strip())
                    if answer is not None:
                        self.wfile.write((answer if isinstance(answer, bytes) else answer.encode("ascii")) + b"\n")

            def _acknowledge(self) -> None:
                """Acknowledge a command at once.

                The client delays its next command until the acknowledgement (RFC 896), which otherwise takes 40 ms.
                """
                if QUICK is not None:
                    self.connection.setsockopt(socket.IPPROTO_TCP, QUICK, 1)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True

            def verify_request(self, request: Any, client_address: Any) -> bool:
                return accepts(request, client_address)

        self._server = Server(("127.0.0.1", 0), Connection)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(POLL_S,), name="instrument", daemon=True
        )

    @property
    def resource(self) -> str:
        """VISA resource name of the instrument."""
        return f"TCPIP0::127.0.0.1::{self.port}::SOCKET"

    @property
    def port(self) -> int:
        """Number of the TCP port."""
        return int(self._server.server_address[1])

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
