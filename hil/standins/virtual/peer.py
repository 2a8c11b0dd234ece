"""Find the user who opened a loopback connection: any user of this computer can open one.

The kernel is asked for this one socket (sock_diag(7)), which takes a twentieth of the time of its table of all sockets;
the table has it where a kernel does not answer.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

TABLE = Path("/proc/self/net/tcp")  # proc(5): every TCP socket of this network namespace, with its user
_SOCK_DIAG, _BY_FAMILY, _REQUEST = 4, 20, 1  # NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST
_HEADER, _QUESTION, _PORTS, _ANY = "=IHHII", "=BBBxI", "!HH4s12x4s12x", "=III"  # nlmsghdr, inet_diag_req_v2 and its id
_USER_AT = struct.calcsize(_HEADER) + 4 + 48 + 12  # in an answer: of the user and the inode of an inet_diag_msg
_ALL_STATES = 0xFFFFFFFF
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
    asked = _asked(client, server)
    if asked is not None:
        return asked
    ends = [_hexadecimal(client), _hexadecimal(server)]
    for _ in range(LOOKS):
        for line in TABLE.read_text(encoding="ascii").splitlines()[1:]:
            fields = line.split()
            if fields[1:3] == ends and fields[9] != "0":  # inode 0: closed by its owner, and listed with user 0
                return int(fields[7])
        time.sleep(BETWEEN_S)
    return None


def _asked(client: tuple[str, int], server: tuple[str, int]) -> int | None:
    """Return the user id of the owner of the client's socket as `sock_diag` gives it; None if it does not."""
    ends = socket.inet_aton(client[0]), socket.inet_aton(server[0])
    question = struct.pack(_QUESTION, socket.AF_INET, socket.IPPROTO_TCP, 0, _ALL_STATES)
    question += struct.pack(_PORTS, client[1], server[1], *ends) + struct.pack(_ANY, 0, _ALL_STATES, _ALL_STATES)
    size = struct.calcsize(_HEADER) + len(question)
    with (
        contextlib.suppress(OSError, struct.error),
        socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _SOCK_DIAG) as kernel,
    ):
        kernel.settimeout(1.0)
        kernel.send(struct.pack(_HEADER, size, _BY_FAMILY, _REQUEST, 0, 0) + question)
        answer = kernel.recv(8192)
        user, inode = struct.unpack_from("=II", answer, _USER_AT)
        if struct.unpack_from(_HEADER, answer)[1] == _BY_FAMILY and inode:  # inode 0: closed by its owner
            return int(user)
    return None


def _self() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0


def _hexadecimal(address: tuple[str, int]) -> str:
    """Return an address in the format of the table: IPv4 address in the byte order of this processor, then port."""
    return f"{int.from_bytes(socket.inet_aton(address[0]), sys.byteorder):08X}:{address[1]:04X}"
