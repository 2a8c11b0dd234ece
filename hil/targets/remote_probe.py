"""pyOCD's client for remote probes (`remote:HOST:PORT`) that notices a closed connection and reports round trips."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from functools import partial
from math import inf

from pyocd.probe import tcp_client_probe
from pyocd.probe.debug_probe import DebugProbe
from pyocd.utility.sockets import ClientSocket

from hil.steady_clock import steady_s

REPORT_S = 1.0  # from one report to the next, at least
Report = Callable[[int, float], None]


class EndingSocket(ClientSocket):  # type: ignore[misc]
    """Reports a closed connection. pyOCD's own socket (seen in 0.46) then reads for ever without a pause.

    Args:
        host, port: of the server.
        report: called every second or later, with the number of requests that were answered since, and the seconds of
            the fastest answer so far: the round trip.
    """

    _socket: socket.socket | None

    def __init__(self, host: str, port: int, report: Report) -> None:
        super().__init__(host, port)
        self._report, self._answered, self._round_trip_s = report, 0, inf
        self._asked_at = self._reported_at = steady_s()

    def write(self, data: bytes) -> None:
        """Send a request."""
        self._asked_at = steady_s()
        super().write(data)

    def readline(self) -> bytes:
        """Return an answer."""
        line: bytes = super().readline()
        now = steady_s()
        self._answered += 1
        self._round_trip_s = min(self._round_trip_s, now - self._asked_at)
        if now - self._reported_at >= REPORT_S:
            self._report(self._answered, self._round_trip_s)
            self._answered, self._reported_at = 0, now
        return line

    def read(self, packet_size: int | None = None) -> bytes:
        """Return received bytes.

        Raises:
            ConnectionResetError: the server has closed the connection.
            TimeoutError: nothing received yet.
        """
        data: bytes = super().read(packet_size)
        if not data:
            raise ConnectionResetError("its program has closed the connection")
        return data

    def close(self) -> None:
        """Close the connection, even if the server has closed it.

        pyOCD calls `shutdown` first, which fails on a closed connection and leaves the descriptor open.
        """
        end, self._socket = self._socket, None
        if end is not None:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


def close_connection(probe: DebugProbe) -> None:
    """Close the connection of a remote probe, also after its session failed; do nothing for other probes.

    pyOCD closes it only after an answer to its last request. Otherwise it stays open until garbage collection, which
    may take hours.
    """
    if isinstance(probe, tcp_client_probe.TCPClientProbe):
        probe._socket.close()


def install(report: Report) -> None:
    """Make pyOCD use `EndingSocket`."""
    tcp_client_probe.ClientSocket = partial(EndingSocket, report=report)
