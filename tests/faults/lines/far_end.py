"""`python -m tests.faults.lines.far_end ADDRESS PORT [PROGRAM]`: a serial line at the far end of a network, in real time.

It takes connections one after the other. Bytes go along the line at its baud rate to the agent's own code, and its
answers, which are short, go back at once. Without a program the line ends in nothing, and `LAST` alone is answered.
"""

from __future__ import annotations

import socket
import sys
import time
from pathlib import Path

from tests.unit.firmware.host_agent import Agent

from .rates import BAUD
from .simulated import BITS

PORTION = 256  # bytes: 3 ms of the line
LAST = b"\xff"  # byte of a plain stream, answered with the same


def main() -> None:
    """Serve until killed."""
    host, port, *programs = sys.argv[1:]
    with socket.create_server((host, int(port))) as listener:
        print("listening", flush=True)
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                serve(connection, Agent(Path(programs[0])) if programs else None)


def serve(connection: socket.socket, agent: Agent | None) -> None:
    """Carry bytes until the client closes the connection."""
    free_at = time.monotonic()
    while data := connection.recv(PORTION):
        free_at = max(free_at, time.monotonic()) + len(data) * BITS / BAUD
        time.sleep(max(0.0, free_at - time.monotonic()))
        connection.sendall(data.count(LAST) * LAST if agent is None else agent.receive(data)[0])
    if agent is not None:
        agent.close()


if __name__ == "__main__":
    main()
