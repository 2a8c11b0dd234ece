"""How an image gets onto a board: the protocol of a flash route, and which of the catalogue's routes a bench has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from hil.boards import Board
from hil.endpoints import Endpoints
from hil.errors import Blocked
from hil.images import Image
from hil.targets.boot_loader import BootLoader, ByBootLoader, Tell
from hil.targets.halfkay import HalfKay
from hil.targets.probe import Probe
from hil.targets.probe_process import ProbeProcess
from hil.targets.serial_port import SerialPort
from hil.targets.uf2 import Uf2

BOOT_LOADERS: dict[str, Callable[[Board, str | None], BootLoader]] = {"halfkay": HalfKay, "uf2": Uf2}


class FlashRoute(Protocol):
    """Brings images onto one board.

    Attributes:
        name: `pyocd`, `halfkay`, `uf2`, `agent` (nothing can be flashed here, the agent tells what is there) or `kernel`.
    """

    name: str

    def program(self, image: Image, always: bool = False) -> bool:
        """Program the image, unless the flash already holds it and `always` is false; return whether it was programmed."""
        ...

    def start(self) -> None:
        """Start what the flash holds."""
        ...

    def close(self) -> None:
        """Let go; the board keeps running."""
        ...


class AlreadyLoaded:
    """A stand-in without a probe has loaded the image itself."""

    name = "kernel"

    def program(self, image: Image, always: bool = False) -> bool:
        """Nothing was programmed.

        Raises:
            Blocked: data is to lie beside the program.
        """
        if image.cargo:
            raise Blocked(
                "flash", "this stand-in loads the program alone, and no network beside it: train on another board."
            )
        return False

    def start(self) -> None:
        """It runs."""

    def close(self) -> None:
        """There is nothing to let go of."""


def route_of(
    board: Board, endpoints: Endpoints, port: SerialPort, process: ProbeProcess | None, tell: Tell
) -> FlashRoute:
    """Return the route: through the probe where the bench names one, else the first boot loader of the catalogue.

    Args:
        board: catalogue entry.
        endpoints: what the bench has of it.
        port: its open serial port.
        process: does the work with a probe; None for one of the route's own.
        tell: takes a sentence for the person at the bench.

    Raises:
        Blocked: the probe cannot be opened, or the board has no use for one.
    """
    if endpoints.probe is not None:
        if "pyocd" not in board.routes:
            raise Blocked(
                "bench",
                f"rig.toml names a probe for {board.name}, which is not flashed through one: take `probe` out of its table.",
            )
        return Probe(board, endpoints.probe, endpoints.pack, process)
    if endpoints.reality != "hardware":
        return AlreadyLoaded()
    loader = next((BOOT_LOADERS[name](board, endpoints.loader) for name in board.routes if name in BOOT_LOADERS), None)
    return ByBootLoader(board, port, loader, tell)
