"""Flash routes: the protocol that each implements, and the choice of one for a board."""

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
    """Programs images into one board.

    Attributes:
        name: `pyocd`, `halfkay`, `uf2`, `kernel` (a stand-in loads the image itself) or `agent` (the board cannot be
            flashed here; its agent reports the digest of its image).
    """

    name: str

    def program(self, image: Image, always: bool = False) -> bool:
        """Program the image unless the flash holds it already (`always`: even then); return whether it did."""
        ...

    def start(self) -> None:
        """Start the image in the flash."""
        ...

    def close(self) -> None:
        """Release the route; the board keeps running."""
        ...


class AlreadyLoaded:
    """Flash route of a stand-in without a probe, which loads the image itself."""

    name = "kernel"

    def program(self, image: Image, always: bool = False) -> bool:
        """Return False: nothing was programmed. Raises Blocked if the image carries data beside the program."""
        if image.cargo:
            raise Blocked(
                "flash", "this stand-in loads the program only, without a network in flash: train on another board."
            )
        return False

    def start(self) -> None:
        """Do nothing: the image runs."""

    def close(self) -> None:
        """Do nothing."""


def route_of(
    board: Board, endpoints: Endpoints, port: SerialPort, process: ProbeProcess | None, tell: Tell
) -> FlashRoute:
    """Return the route: the probe if rig.toml names one, else the first boot loader in the catalogue entry.

    Arguments as for `open_target`. Raises Blocked if the probe cannot be opened, or does not flash this board.
    """
    if endpoints.probe is not None:
        if "pyocd" not in board.routes:
            raise Blocked(
                "bench",
                f"rig.toml names a probe for {board.name}, which is not flashed through one: "
                "remove `probe` from its table.",
            )
        return Probe(board, endpoints.probe, endpoints.pack, process)
    if endpoints.reality != "hardware":
        return AlreadyLoaded()
    loader = next((BOOT_LOADERS[name](board, endpoints.loader) for name in board.routes if name in BOOT_LOADERS), None)
    return ByBootLoader(board, port, loader, tell)
