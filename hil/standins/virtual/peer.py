"""Find the user at the other end of a loopback connection, which every user of this computer can open."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

TABLE = Path("/proc/self/net/tcp")  # proc(5): every TCP socket of this network, with the user that it belongs to
LOOKS, BETWEEN_S = 5, 0.002  # a socket may be passed over while the table changes under its reader


def same_user_only(log: Callable[[str], None]) -> Callable[[socket.socket, tuple[str, int]], bool]:
    """Return a `verify_request` for a TCP server of socketserver that takes connections of this process's user only.

    Args:
        log: receives a line about each connection that is refused.
    """

    def verify(connection: socket.socket, client: tuple[str, int]) -> bool:
        owner = user_of(client, connection.getsockname())
        if owner == _self():
            return True
        who = "nobody that could be found" if owner is None else f"user {owner}"
        log(
            f"a connection of {who} to port {connection.getsockname()[1]} is refused: the virtual board belongs to user {_self()}"
        )
        return False

    return verify


def user_of(client: tuple[str, int], server: tuple[str, int]) -> int | None:
    """Return the id of the user who owns the client's socket of a local IPv4 connection; None once it is closed.

    Outside Linux the owner cannot be found: return the user of this process.
    """
    if sys.platform != "linux":
        return _self()
    ends = [_hexadecimal(client), _hexadecimal(server)]
    for _ in range(LOOKS):
        for line in TABLE.read_text(encoding="ascii").splitlines()[1:]:
            fields = line.split()
            if fields[1:3] == ends and fields[9] != "0":  # inode 0: closed by its owner, and shown as root's
                return int(fields[7])
        time.sleep(BETWEEN_S)
    return None


def _self() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0


def _hexadecimal(address: tuple[str, int]) -> str:
    """Return an address as the table has it: that of IPv4 as a number in the order of this processor."""
    return f"{int.from_bytes(socket.inet_aton(address[0]), sys.byteorder):08X}:{address[1]:04X}"
