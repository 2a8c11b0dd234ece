"""Find the user who opened a loopback connection: any user of this computer can open one."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

TABLE = Path("/proc/self/net/tcp")  # proc(5): every TCP socket of this network namespace, with its user
LOOKS, BETWEEN_S = 5, 0.002  # a socket may be missing from the table if the table changes while it is read


def same_user_only(log: Callable[[str], None]) -> Callable[[socket.socket, tuple[str, int]], bool]:
    """Return a `verify_request` for a socketserver.TCPServer that accepts only connections of this process's user.

    Args:
        log: receives one line for each refused connection.
    """

    def verify(connection: socket.socket, client: tuple[str, int]) -> bool:
        owner = user_of(client, connection.getsockname())
        if owner == _self():
            return True
        who = "an unknown user" if owner is None else f"user {owner}"
        log(
            f"a connection of {who} to port {connection.getsockname()[1]} is refused: "
            f"the virtual board belongs to user {_self()}"
        )
        return False

    return verify


def user_of(client: tuple[str, int], server: tuple[str, int]) -> int | None:
    """Return the user id of the owner of the client's socket of a local IPv4 connection; None if it is closed.

    Outside Linux the owner cannot be found, and the user of this process is returned.
    """
    if sys.platform != "linux":
        return _self()
    ends = [_hexadecimal(client), _hexadecimal(server)]
    for _ in range(LOOKS):
        for line in TABLE.read_text(encoding="ascii").splitlines()[1:]:
            fields = line.split()
            if fields[1:3] == ends and fields[9] != "0":  # inode 0: closed by its owner, and listed with user 0
                return int(fields[7])
        time.sleep(BETWEEN_S)
    return None


def _self() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0


def _hexadecimal(address: tuple[str, int]) -> str:
    """Return an address in the format of the table: IPv4 address in the byte order of this processor, then port."""
    return f"{int.from_bytes(socket.inet_aton(address[0]), sys.byteorder):08X}:{address[1]:04X}"
