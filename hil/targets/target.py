"""A target: a board made live through its endpoints."""

from __future__ import annotations

from dataclasses import dataclass

import serial

from hil.boards import Board, Image
from hil.endpoints import Endpoints
from hil.errors import Blocked
from hil.targets.probe import Probe
from hil.targets.serial_port import open_serial


@dataclass
class Target:
    """An open serial port and, where the board has one, an open probe."""

    board: Board
    endpoints: Endpoints
    port: serial.Serial
    probe: Probe | None

    def flash(self, image: Image) -> bool:
        """Bring the image onto the board and start it; return whether anything was programmed."""
        if self.probe is None:
            return False  # the stand-in loaded it
        programmed = self.probe.flash(image)
        self.port.reset_input_buffer()
        self.probe.reset()
        return programmed

    def close(self) -> None:
        """Give port and probe back."""
        self.port.close()
        if self.probe is not None:
            self.probe.close()


def open_target(board: Board, endpoints: Endpoints) -> Target:
    """Open the endpoints of a board.

    Raises:
        Blocked: an endpoint is missing or cannot be opened.
    """
    if endpoints.serial is None:
        raise Blocked("link", f"{board.name} has no serial port here: name it in rig.toml (`serial = ...`).")
    port = open_serial(endpoints.serial, board.baud)
    try:
        probe = Probe(board, endpoints.probe) if endpoints.probe else None
    except BaseException:
        port.close()
        raise
    return Target(board, endpoints, port, probe)
