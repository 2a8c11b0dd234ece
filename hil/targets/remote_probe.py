"""pyOCD's client of a probe that another program offers (`remote:HOST:PORT`), with an end to its wait."""

from __future__ import annotations

import contextlib
import socket

from pyocd.probe import tcp_client_probe
from pyocd.probe.debug_probe import DebugProbe
from pyocd.utility.sockets import ClientSocket


class EndingSocket(ClientSocket):  # type: ignore[misc]
    """pyOCD (seen in 0.46) reads on, without a pause and for ever, where the other end has closed the connection."""

    def read(self, packet_size: int | None = None) -> bytes:
        """Return bytes that have come.

        Raises:
            ConnectionResetError: the other end has closed the connection.
            TimeoutError: none have come yet.
        """
        data: bytes = super().read(packet_size)
        if not data:
            raise ConnectionResetError("its program has closed the connection")
        return data

    def close(self) -> None:
        """Close the connection, also where the other end has: pyOCD shuts it down first, which fails there, and its descriptor stays open."""
        end, self._socket = self._socket, None
        if end is not None:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


def let_go(probe: DebugProbe) -> None:
    """Close the connection of a remote probe whatever became of its session; other probes have none.

    pyOCD closes it only after an answer to its last request, and else leaves it to the garbage collector, which may take hours.
    """
    if isinstance(probe, tcp_client_probe.TCPClientProbe):
        probe._socket.close()


def install() -> None:
    """Let pyOCD use it."""
    tcp_client_probe.ClientSocket = EndingSocket
