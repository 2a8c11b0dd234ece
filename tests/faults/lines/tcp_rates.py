"""`python -m tests.faults.lines.tcp_rates`: the link over networks with Linux's own TCP, for docs/bench.md.

What a path allows is measured in the same minutes: plain TCP carries as many bytes as fast as it can, along a line of
the same baud rate. A window of frames bounds the link besides. Needs root, for the path (`packet_path`).
"""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hil.arguments import positive_count
from hil.link.session import Session
from hil.targets.serial_port import open_serial
from tests.unit.firmware.host_agent import build

from .far_end import LAST
from .packet_path import FAR, PacketPath
from .rates import BAUD, WINDOWS, WIRE, bodies, bound_of_window

WINDOW = WINDOWS[0]
PORT = 4001
NETWORKS = [(round_s, loss) for loss in (0.0, 0.01) for round_s in (0.001, 0.02, 0.1)]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description="The link over networks with Linux's own TCP.")
    parser.add_argument("--frames", type=positive_count, default=2000, metavar="N", help="of a stream (default: 2000)")
    parser.add_argument("--turns", type=positive_count, default=3, metavar="N", help="of each network (default: 3)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder), "link", [])
        for round_s, loss in NETWORKS:
            for turn in range(options.turns):
                print(row(program, round_s, loss, options.frames, seed=turn), flush=True)


def row(program: Path, round_s: float, loss: float, frames: int, seed: int) -> str:
    """Return a row: round trip, loss, bytes a second of TCP and of the link, its share, lost packets, repeated frames."""
    with PacketPath(round_s, loss, seed) as path:
        with far_end(path.namespace):
            plain = plain_rate(frames * WIRE)
        before = path.lost
        with far_end(path.namespace, str(program)):
            rate, repeated = link_rate(frames)
        allowed = min(plain, bound_of_window(WINDOW, round_s))
        return (
            f"| {1000 * round_s:g} ms | {100 * loss:g} % | {plain:,.0f} | {rate:,.0f} | {100 * rate / allowed:.0f} % | "
            f"{before}, {path.lost - before} | {repeated} |"
        )


@contextmanager
def far_end(namespace: str, *program: str) -> Iterator[None]:
    """A serial line at the far end of the path."""
    command = ["ip", "netns", "exec", namespace, sys.executable, "-m", "tests.faults.lines.far_end", FAR, str(PORT)]
    process = subprocess.Popen([*command, *program], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "listening\n"
        yield
    finally:
        process.kill()
        process.communicate()


def plain_rate(count: int) -> float:
    """Return the bytes a second of a plain stream, until its last byte has come and is answered."""
    with socket.create_connection((FAR, PORT)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        began = time.monotonic()
        connection.sendall(bytes(count - 1) + LAST)
        assert connection.recv(1) == LAST
        return count / (time.monotonic() - began)


def link_rate(frames: int) -> tuple[float, int]:
    """Return the encoded bytes a second of a stream of frames until the last one is acknowledged, and the repeats."""
    samples = bodies(frames)
    port = open_serial(f"socket://{FAR}:{PORT}", BAUD)
    try:
        session = Session(port, 1)
        session.hello(30.0)
        session._window = WINDOW
        began = time.monotonic()
        session.stream("samples", samples)
        return frames * WIRE / (time.monotonic() - began), session.counters.frames_repeated
    finally:
        port.close()


if __name__ == "__main__":
    main()
