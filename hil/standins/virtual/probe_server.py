"""pyOCD's server of debug probes, for this user only, and with an end to its lines."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import BinaryIO

from pyocd.core.session import Session
from pyocd.probe.debug_probe import DebugProbe
from pyocd.probe.tcp_probe_server import DebugProbeRequestHandler, DebugProbeServer

from hil.standins.virtual.peer import same_user_only

LONGEST = 1 << 24  # bytes of a request: a block of 1 MB as JSON has 5


class OwnProbeServer(DebugProbeServer):
    """pyOCD's probe server on a free port of the loopback address.

    Args:
        probe: is served on a port of the loopback address that the system chooses.
        log: receives a line about each connection that is refused.
    """

    def __init__(self, probe: DebugProbe, log: Callable[[str], None]) -> None:
        super().__init__(Session(None, no_config=True), probe, port=0, serve_local_only=True)
        self._server.verify_request = same_user_only(log)
        self._server.RequestHandlerClass = _Bounded


class _Bounded(DebugProbeRequestHandler):
    def setup(self) -> None:
        super().setup()
        self.rfile = _Lines(self.rfile)

    def finish(self) -> None:
        """Give back the locks of a client that is gone: a real probe knows nothing of it any more."""
        with contextlib.suppress(RuntimeError):  # none of this thread's is left
            while True:
                self._probe.unlock()
        super().finish()


class _Lines:
    """Lines of a client; one that is too long is the last."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readline(self) -> bytes:
        line = self._stream.readline(LONGEST + 1)
        return line if len(line) <= LONGEST else b""

    def close(self) -> None:
        self._stream.close()
