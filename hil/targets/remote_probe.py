"""Fix pyOCD's client for remote probes (`remote:HOST:PORT`), which hangs when the server closes the connection."""

from __future__ import annotations

import contextlib
import socket

from pyocd.probe import tcp_client_probe
from pyocd.probe.debug_probe import DebugProbe
from pyocd.utility.sockets import ClientSocket


class EndingSocket(ClientSocket):  # type: ignore[misc]
    """Reports a closed connection. pyOCD's own socket (seen in 0.46) then reads for ever without a pause."""

    _socket: socket.socket | None

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


def install() -> None:
    """Make pyOCD use `EndingSocket`."""
    tcp_client_probe.ClientSocket = EndingSocket
