"""A target: a board made live through its endpoints."""

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
from hil.targets.serial_port import SerialPort, emptied, let_go, open_serial, path_of


@dataclass
class Target:
    """An open serial port and the route by which images get onto the board.

    Attributes:
        cycles: how often this computer has programmed the board's flash, where it is silicon.
    """

    board: Board
    endpoints: Endpoints
    port: SerialPort
    route: FlashRoute
    cycles: int | None = None

    @property
    def probe(self) -> Probe | None:
        """The open probe, where the board has one."""
        return self.route if isinstance(self.route, Probe) else None

    def flash(self, image: Image, always: bool = False) -> bool:
        """Bring the image onto the board and start it; return whether anything was programmed.

        Args:
            image: the firmware.
            always: program it even when the board holds it already.

        Raises:
            Blocked: the route failed, the chip or the board is another, or the port did not come back.
        """
        programmed = self.route.program(image, always)
        if self.endpoints.reality == "hardware":
            self._count(programmed)
        self.port = emptied(self.port, self.endpoints)
        self.route.start()
        return programmed

    def _count(self, programmed: bool) -> None:
        identity = flash_cycles.identity_of(self.endpoints)
        with contextlib.suppress(OSError):  # a folder that cannot be written is no reason to give a trial up
            self.cycles = flash_cycles.count(identity) if programmed else flash_cycles.cycles(identity)

    def close(self) -> None:
        """Give port and route back."""
        let_go(self.port)
        self.route.close()


def open_target(
    board: Board, endpoints: Endpoints, process: ProbeProcess | None = None, tell: Tell = lambda sentence: None
) -> Target:
    """Open the endpoints of a board.

    Args:
        board: catalogue entry.
        endpoints: what the bench has of it.
        process: does the work with a probe; by default one that ends with the target.
        tell: takes a sentence for the person at the bench (a button to be pressed).

    Raises:
        Blocked: an endpoint is missing or cannot be opened.
    """
    port = open_serial(path_of(endpoints), board.baud)
    try:
        return Target(board, endpoints, port, route_of(board, endpoints, port, process, tell))
    except BaseException:
        port.close()
        raise
