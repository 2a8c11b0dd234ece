"""pyOCD's probe server, limited to connections of this user and to requests of bounded length."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, BinaryIO

from pyocd.core.session import Session
from pyocd.probe.debug_probe import DebugProbe
from pyocd.probe.tcp_probe_server import DebugProbeRequestHandler, DebugProbeServer

from hil.standins.virtual.peer import same_user_only

LONGEST = 1 << 24  # bytes of a request; a block of 1 MB takes 5 MB as JSON


class OwnProbeServer(DebugProbeServer):  # type: ignore[misc]  # pyOCD comes without types
    """pyOCD's probe server on a loopback port that the system chooses.

    Args:
        probe: probe to serve.
        log: receives one line for each refused connection.
    """

    def __init__(self, probe: DebugProbe, log: Callable[[str], None]) -> None:
        super().__init__(Session(None, no_config=True), probe, port=0, serve_local_only=True)
        self._server.verify_request = same_user_only(log)
        self._server.RequestHandlerClass = _Bounded


class _Bounded(DebugProbeRequestHandler):  # type: ignore[misc]  # pyOCD comes without types
    rfile: Any

    def setup(self) -> None:
        super().setup()
        self.rfile = _Lines(self.rfile)

    def finish(self) -> None:
        """Release the locks of a client that has disconnected: a real probe would not keep them."""
        with contextlib.suppress(RuntimeError):  # this thread holds no more locks
            while True:
                self._probe.unlock()
        super().finish()


class _Lines:
    """Lines of a client. A line longer than LONGEST ends the connection."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readline(self) -> bytes:
        line = self._stream.readline(LONGEST + 1)
        return line if len(line) <= LONGEST else b""

    def close(self) -> None:
        self._stream.close()
