"""A target: a board with open endpoints."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from hil.boards import Board
from hil.endpoints import Endpoints
from hil.images import Image
from hil.targets import flash_cycles
from hil.targets.boot_loader import Tell
from hil.targets.flash_route import FlashRoute, route_of
from hil.targets.probe import Probe
from hil.targets.probe_process import ProbeProcess
from hil.targets.serial_port import SerialPort, close_and_discard, emptied, open_serial, path_of


@dataclass
class Target:
    """A board with its open serial port and flash route.

    Attributes:
        cycles: how often this computer has programmed the board's flash; None for a stand-in and before `flash`.
    """

    board: Board
    endpoints: Endpoints
    port: SerialPort
    route: FlashRoute
    cycles: int | None = None

    @property
    def probe(self) -> Probe | None:
        """The open probe, None if the board has none."""
        return self.route if isinstance(self.route, Probe) else None

    def flash(self, image: Image, always: bool = False) -> bool:
        """Program the image unless the board holds it (`always`: even then), and start it; return whether it did.

        Raises Blocked if the route failed, it is another chip or board, or the serial port did not come back.
        """
        programmed = self.route.program(image, always)
        if self.endpoints.reality == "hardware":
            identity = flash_cycles.identity_of(self.endpoints)
            with contextlib.suppress(OSError):  # a folder that cannot be written is no reason to stop a trial
                self.cycles = flash_cycles.count(identity) if programmed else flash_cycles.cycles(identity)
        self.port = emptied(self.port, self.endpoints)
        self.start()
        return programmed

    def start(self) -> None:
        """Start the image in the flash. Without a probe it runs already."""
        if self.probe is not None:
            self.probe.start()

    def close(self) -> None:
        """Close the port and the probe; the board keeps running."""
        close_and_discard(self.port)
        if self.probe is not None:
            self.probe.close()


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
        return Target(board, endpoints, port, route_of(board, endpoints, port, process, tell))
    except BaseException:
        port.close()
        raise
