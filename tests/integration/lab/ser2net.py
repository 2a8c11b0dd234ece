#!/usr/bin/env python3
"""Stands in for the program ser2net, as labgrid's exporter calls it: a serial port on a TCP port, by RFC 2217.

It listens on one loopback address only, and serves one client after another.
"""

from __future__ import annotations

import contextlib
import re
import socket
import sys
import threading

import serial
import serial.rfc2217

ADDRESS = "127.0.0.2"  # loopback, and not the address that the rig takes for "this computer"


class Port(serial.Serial):
    """A port without modem lines, as a pseudo-terminal is; pyserial's port manager asks for them."""

    cts = dsr = ri = cd = False

    def _update_rts_state(self) -> None: ...

    def _update_dtr_state(self) -> None: ...


class Client:
    """The connection of a client, as pyserial's port manager writes to it."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def write(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            self._connection.sendall(data)


def serve(connection: socket.socket, port: serial.Serial) -> None:
    manager = serial.rfc2217.PortManager(port, Client(connection))
    ended = threading.Event()

    def to_client() -> None:
        while not ended.is_set():
            data = port.read(max(1, port.in_waiting))
            if data:
                with contextlib.suppress(OSError):
                    connection.sendall(b"".join(manager.escape(data)))

    reader = threading.Thread(target=to_client, daemon=True)
    reader.start()
    with contextlib.suppress(OSError):
        while data := connection.recv(4096):
            port.write(b"".join(manager.filter(data)))
    ended.set()
    reader.join()
    connection.close()


def main() -> None:
    words = " ".join(sys.argv[1:])
    if words == "-v":
        print("ser2net version 4.6.2")
        return
    number = int(re.search(r"tcp,(\d+)", words)[1])
    path, baud = re.search(r"serialdev\([^)]*\),([^,]+),(\d+)n81", words).groups()
    with socket.create_server((ADDRESS, number)) as server:
        while True:
            connection, _ = server.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with Port(path, int(baud), timeout=0.02) as port:
                serve(connection, port)


if __name__ == "__main__":
    main()
