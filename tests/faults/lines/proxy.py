"""A TCP proxy whose both directions are a network of some length: between the rig and what exports a serial port or a probe."""

from __future__ import annotations

import contextlib
import heapq
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

from .path import Path

CONNECT_S = 10.0


@dataclass
class Proxy:
    """A proxy that listens on a port of the loopback, for one client after another or several at a time.

    Args:
        there: `host, port` that it leads to.
        path: makes the path of one direction of a connection.

    Attributes:
        address: `host:port` for the client.
    """

    there: tuple[str, int]
    path: Callable[[], Path] = Path
    _open: set[socket.socket] = field(default_factory=set)
    _stopped: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()

    def cut(self) -> None:
        """Reset every connection, as a router that has forgotten them."""
        for end in list(self._open):
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                end.shutdown(socket.SHUT_RD)
            end.close()
        self._open.clear()

    def stop(self) -> None:
        """Deliver nothing any more, without a word: the network is gone."""
        self._stopped.set()

    def close(self) -> None:
        """End the proxy and its connections."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                try:
                    server = socket.create_connection(self.there, timeout=CONNECT_S)
                except OSError:
                    client.close()
                    continue
                server.settimeout(None)
                self._open |= {client, server}
                for end in (client, server):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for source, sink in ((client, server), (server, client)):
                    _Direction(source, sink, self.path(), self._stopped).start()


class _Direction:
    """Reads one end and writes the other, each segment when it arrives."""

    def __init__(self, source: socket.socket, sink: socket.socket, path: Path, stopped: threading.Event) -> None:
        self._source, self._sink, self._path, self._stopped = source, sink, path, stopped
        self._queue: list[tuple[float, int, bytes]] = []
        self._numbers, self._changed = count(), threading.Condition()

    def start(self) -> None:
        for work in (self._read, self._write):
            threading.Thread(target=work, name="proxy direction", daemon=True).start()

    def _read(self) -> None:
        data = b"x"
        while data:
            try:
                data = self._source.recv(65_536)
            except OSError:
                data = b""
            now = time.monotonic()
            with self._changed:  # the end of the stream comes as a segment of nothing
                for at, part in self._path.arrivals(now, data) if data else [(now + self._path.one_way_s, b"")]:
                    heapq.heappush(self._queue, (at, next(self._numbers), part))
                self._changed.notify()

    def _write(self) -> None:
        while True:
            with self._changed:
                while not self._queue or self._queue[0][0] > time.monotonic():
                    self._changed.wait(self._queue[0][0] - time.monotonic() if self._queue else None)
                _, _, part = heapq.heappop(self._queue)
            if self._stopped.is_set():
                continue
            try:
                if not part:
                    self._sink.shutdown(socket.SHUT_WR)
                    return
                self._sink.sendall(part)
            except OSError:
                return


@contextlib.contextmanager
def proxied(address: str, path: Callable[[], Path] = Path) -> Iterator[Proxy]:
    """Put a proxy before `host:port`."""
    host, port = address.rsplit(":", 1)
    proxy = Proxy((host, int(port)), path)
    try:
        yield proxy
    finally:
        proxy.close()
