"""pyOCD's client of a probe that another program offers (`remote:HOST:PORT`), with an end to its wait."""

from __future__ import annotations

from pyocd.probe import tcp_client_probe
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


def install() -> None:
    """Let pyOCD use it."""
    tcp_client_probe.ClientSocket = EndingSocket
