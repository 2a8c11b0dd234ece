"""Flash routes: the protocol that each implements, their registry, and the choice of one for a board."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, get_args

from hil.boards import Board
from hil.endpoints import Endpoints, Verify
from hil.errors import Blocked, RigError, shown
from hil.images import Image
from hil.plugins import Registry
from hil.plugins.guarded import wanted
from hil.targets.boot_loader import BootLoader, ByBootLoader, FromBootLoader, Tell
from hil.targets.probe_process import ProbeProcess
from hil.targets.serial_port import SerialPort

if TYPE_CHECKING:
    from hil.targets.probe import Probe


class FlashRoute(Protocol):
    """Programs images into one board.

    Attributes:
        name: that of the registry, `command` (of rig.toml), or `agent` (the board cannot be flashed here; its agent
            reports the digest of its image).
        verified: what has checked that the board has the image, after `program`; None of a stand-in.
    """

    name: str

    @property
    def verified(self) -> Verify | None:
        """Its value."""
        ...

    def program(self, image: Image, always: bool = False) -> bool:
        """Program the image unless the flash holds it already (`always`: even then); return whether it did.

        The board then runs it. Raises Blocked if it cannot be programmed.
        """
        ...


@dataclass(frozen=True)
class Flashing:
    """What a flash route may use of a board.

    Attributes:
        board: catalogue entry.
        endpoints: of the board on this bench.
        port: returns the open serial port.
        process: for the work with a probe; None for a new one.
        tell: callback for sentences addressed to the operator (a button to press).
        log: file for the output of commands; None without one.
    """

    board: Board
    endpoints: Endpoints
    port: Callable[[], SerialPort]
    process: ProbeProcess | None
    tell: Tell
    log: Path | None = None


RouteKind = Callable[[Flashing], "FlashRoute | None"]  # None: the board is not attached in this way


class AlreadyLoaded:
    """Flash route of a stand-in without a probe, which loads the image and its cargo itself."""

    name = "kernel"
    verified: Verify | None = None

    def program(self, image: Image, always: bool = False) -> bool:
        """Return False: nothing was programmed."""
        return False


def loaded_by_stand_in(flashing: Flashing) -> FlashRoute | None:
    """Return the route `kernel` of a stand-in."""
    return AlreadyLoaded() if flashing.endpoints.reality != "hardware" else None


def by_boot_loader(loader: Callable[[Board, str | None], BootLoader], flashing: Flashing) -> FlashRoute | None:
    """Return the route through a USB boot loader of an attached board without a probe."""
    ends, board = flashing.endpoints, flashing.board
    if ends.reality != "hardware" or ends.probe is not None:
        return None
    made = loader(board, ends.loader)
    try:
        port = flashing.port()
    except Blocked:
        if board.usb_port is None or not made.waits():
            raise
        return FromBootLoader(made)
    return ByBootLoader(board, port, made, flashing.tell)


def _accept(name: str, kind: Any) -> RouteKind:
    if not callable(kind):
        raise RigError("a flash route is offered as a function of hil.targets.flash_route.Flashing")
    accepted: RouteKind = kind
    return accepted


HOUSE = {
    "pyocd": "hil.targets.probe:through_probe",
    "halfkay": "hil.targets.halfkay:route",
    "uf2": "hil.targets.uf2:route",
    "kernel": "hil.targets.flash_route:loaded_by_stand_in",
}
ROUTES = Registry("flash_routes", "there is no flash route", lambda: HOUSE, _accept)


def route_of(flashing: Flashing) -> FlashRoute:
    """Return the first of the board's routes by which it is attached.

    A stand-in without a probe loads the image itself. An attached board with none must already run the image.

    Raises:
        RigError: there is no flash route of a name.
        Blocked: its plugin is broken, the probe cannot be opened, or no route of the board uses the one of rig.toml.
    """
    board, ends = flashing.board, flashing.endpoints
    wrong = Blocked(
        "bench",
        f"rig.toml names a probe for {board.name}, which is not flashed through one: remove `probe` from its table.",
    )
    if ends.commands is not None and ends.commands.flash is not None:
        if ends.probe is not None and "pyocd" not in board.routes:
            raise wrong
        from hil.targets.by_command import ByCommand  # it checks through a probe, which is a route

        return ByCommand(board, ends, flashing.port, flashing.process, flashing.log)
    for name in board.routes:
        kind = ROUTES.find(name)
        with ROUTES.running(name):
            made = kind(flashing)
        gives = {"name": wanted(str), "verified": _wrong_verified, "program": wanted(bool)}
        route: FlashRoute | None = ROUTES.guarded(name, made, **gives)
        if route is not None:
            return route
    if ends.probe is not None:
        raise wrong
    return loaded_by_stand_in(flashing) or ByBootLoader(board, flashing.port(), None, flashing.tell)


def passed_over(route: FlashRoute, board: Board) -> list[str]:
    """Return the routes of a board if all gave nothing, so that a stand-in of a plugin is taken to have its image.

    None if the board's file says that a stand-in loads the image itself (`kernel`).
    """
    if not isinstance(route, AlreadyLoaded) or AlreadyLoaded.name in board.routes:
        return []
    return list(board.routes)


def _wrong_verified(value: object) -> str:
    return "" if value is None or value in get_args(Verify) else f"it is {shown(value)}, and none of {get_args(Verify)}"


def verified_by(route: FlashRoute) -> Verify | None:
    """Return what has checked that the board has the image; a route of a plugin may not say it."""
    return getattr(route, "verified", "none")


def probe_of(route: FlashRoute) -> Probe | None:
    """Return the open probe of a route, None if it has none."""
    from hil.targets.by_command import ByCommand
    from hil.targets.probe import Probe

    return route if isinstance(route, Probe) else route.probe if isinstance(route, ByCommand) else None
