"""A target: a board with open endpoints."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from hil.boards import Board
from hil.endpoints import Endpoints
from hil.images import Image
from hil.targets import flash_cycles
from hil.targets.boot_loader import Tell
from hil.targets.by_command import ByCommand
from hil.targets.coverage import CoverageReader
from hil.targets.flash_route import Flashing, FlashRoute, probe_of, route_of
from hil.targets.probe import Probe, RamFill
from hil.targets.probe_process import ProbeProcess
from hil.targets.serial_port import SerialPort, close_and_discard, emptied, open_serial, path_of


@dataclass
class Target:
    """A board with its open serial port and flash route.

    Attributes:
        cycles: how often this computer has programmed the board's flash; None for a stand-in and before `flash`.
        filled: whether RAM was filled before the program began (`flash`).
        coverage: says which code was executed since `flash`; None if the board cannot.
    """

    board: Board
    endpoints: Endpoints
    port: SerialPort
    route: FlashRoute
    cycles: int | None = None
    filled: bool = False
    coverage: CoverageReader | None = None

    @property
    def probe(self) -> Probe | None:
        """The open probe, None if the board has none."""
        return probe_of(self.route)

    def flash(self, image: Image, always: bool = False, fill: RamFill | None = None) -> bool:
        """Program the image unless the board holds it (`always`: even then), and start it; return whether it did.

        Through a probe, `fill` is written into RAM before the program begins.

        Raises Blocked if the route failed, it is another chip or board, or the serial port did not come back.
        """
        programmed = self.route.program(image, always)
        self.cycles = flash_cycles_of(self.endpoints, programmed)
        self.port = emptied(self.port, self.endpoints)
        if self.coverage is not None:
            self.coverage.begin()  # without what programmed the flash, and what ran before
        self.start(fill)
        return programmed

    def start(self, fill: RamFill | None = None) -> None:
        """Start the image in the flash. Without a probe and a command that resets the board, it runs already."""
        if isinstance(self.route, ByCommand) and self.route.reset():
            return
        if self.probe is not None:
            self.filled = self.probe.start(fill)

    def close(self) -> None:
        """Close the port and the probe; the board keeps running."""
        close_and_discard(self.port)
        if self.probe is not None:
            self.probe.close()


def flash_cycles_of(endpoints: Endpoints, programmed: bool) -> int | None:
    """Count a programming of a board's flash and return how many there were; None for a stand-in, or if unknown."""
    if endpoints.reality != "hardware":
        return None
    identity = flash_cycles.identity_of(endpoints)
    with contextlib.suppress(OSError):  # a folder that cannot be written is no reason to stop a trial
        return flash_cycles.count(identity) if programmed else flash_cycles.cycles(identity)
    return None


def open_target(
    board: Board, endpoints: Endpoints, process: ProbeProcess | None = None, tell: Tell = lambda sentence: None
) -> Target:
    """Open the endpoints of a board. Raises Blocked if one is missing or cannot be opened.

    Args:
        board: catalogue entry.
        endpoints: of the board on this bench.
        process: for the work with a probe; by default a new one, which ends with the target.
        tell: callback for sentences addressed to the operator (a button to press).
    """
    port = open_serial(path_of(endpoints), board.baud)
    try:
        coverage = CoverageReader(endpoints.coverage) if endpoints.coverage is not None else None
        route = route_of(Flashing(board, endpoints, lambda: port, process, tell))
        return Target(board, endpoints, port, route, coverage=coverage)
    except BaseException:
        port.close()
        raise
