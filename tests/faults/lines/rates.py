"""`python -m tests.faults.lines.rates`: the link over networks in simulated time, for docs/bench.md."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path as File

import hil.link.transport
import hil.link.wire
from hil.link.session import Session
from tests.unit.firmware.host_agent import Agent, build

from .network import port_over
from .simulated import BITS, Clock

BAUD, PIXELS, WIRE = 921_600, 968, 985  # bytes of a frame: tests/unit/link/test_long_paths.py
FRAMES = 400
WINDOWS = (8064, 3968)
NETWORKS = [(round_s, loss) for loss in (0.0, 0.001, 0.01) for round_s in (0.0, 0.001, 0.02, 0.1)]


def bodies(frames: int) -> list[dict[str, object]]:
    """Return the bodies of so many frames of samples."""
    return [
        {"slot": number % 40, "label": number % 10, "pixels": random.Random(number).randbytes(PIXELS)}
        for number in range(frames)
    ]


def bound_of_window(window: int, round_s: float) -> float:
    """Return the bytes a second that a window of so many bytes allows on a path with this round trip."""
    return window / (round_s + WIRE * BITS / BAUD)


def main() -> None:
    """Print a table."""
    with tempfile.TemporaryDirectory() as folder:
        program = build(File(folder), "link", [])
        for window in WINDOWS:
            for round_s, loss in NETWORKS:
                print(row(Agent(program), window, round_s, loss), flush=True)


def row(agent: Agent, window: int, round_s: float, loss: float) -> str:
    """Return a row of the table: window, round trip, loss, bytes a second and their share, lost segments, repeats."""
    clock = Clock()
    hil.link.wire.time = clock  # type: ignore[assignment]
    hil.link.transport.steady_s = hil.link.wire.steady_s = clock.monotonic  # type: ignore[assignment]
    port = port_over(agent, clock, round_s, loss, seed=1)
    session = Session(port, 1)
    session.hello(30.0)
    session._window, started = window, clock.now
    session.stream("samples", bodies(FRAMES))
    rate = FRAMES * WIRE / (clock.now - started)
    allowed = min(BAUD / BITS, bound_of_window(window, round_s))
    agent.close()
    lost = port.to_board.path.lost + port.to_host.path.lost
    return (
        f"| {window:,} | {1000 * round_s:g} ms | {100 * loss:g} % | {rate:,.0f} | {100 * rate / allowed:.0f} % | "
        f"{lost} | {session.counters.frames_repeated} |"
    )


if __name__ == "__main__":
    main()
