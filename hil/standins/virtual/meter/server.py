"""Serves instruments on a loopback TCP socket, one line a message, as instruments do on their raw socket port."""

from __future__ import annotations

import socketserver
import threading
from typing import Protocol


class Instrument(Protocol):
    """What takes lines of SCPI."""

    def execute(self, line: str) -> str | None: ...


class InstrumentServer:
    """Args:
        instrument: sessions share it, one command line at a time.
    """

    def __init__(self, instrument: Instrument) -> None:
        lock = threading.Lock()

        class Session(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                for line in self.rfile:
                    with lock:
                        answer = instrument.execute(line.decode("ascii", "replace").strip())
                    if answer is not None:
                        self.wfile.write(answer.encode("ascii") + b"\n")

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Session)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="instrument", daemon=True)

    @property
    def resource(self) -> str:
        """The VISA resource name."""
        return f"TCPIP0::127.0.0.1::{self._server.server_address[1]}::SOCKET"

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
