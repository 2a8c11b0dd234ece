"""The routes without a probe: the agent tells what the flash holds, and a boot loader on USB takes what it does not hold."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

from hil.boards import Board
from hil.errors import Blocked, DeviceFault
from hil.images import Image
from hil.link.failures import Refused
from hil.link.session import Session, board_name, fresh_nonce
from hil.targets.serial_port import SerialPort

ANSWER_S = 2.5  # an agent that runs answers within milliseconds
LEAVE_S = 2.0  # for the agent to say that it goes; what has gone cannot say it again
APPEAR_S = 15.0  # for a boot loader that was asked for to enumerate, and for the system to mount its drive
ENTER_S = 60.0  # for a person to reach the button
POLL_S = 0.25

Tell = Callable[[str], None]


class BootLoader(Protocol):
    """One kind of boot loader on USB.

    Attributes:
        name: as the catalogue writes it.
        button: how a person gets the board into it, as the end of a sentence.
    """

    name: str
    button: str

    def waits(self) -> bool:
        """Whether the board waits in its boot loader. Raises `Blocked` when it cannot be told which of several is the board."""
        ...

    def program(self, image: Image) -> None:
        """Program the image and start it."""
        ...


class ByBootLoader:
    """Args:
    board: catalogue entry.
    port: its open serial port.
    loader: its boot loader; None for a board that can only be measured as it is.
    tell: takes a sentence for the person at the bench.
    """

    def __init__(self, board: Board, port: SerialPort, loader: BootLoader | None, tell: Tell) -> None:
        self._board, self._port, self._loader, self._tell = board, port, loader, tell
        self.name = loader.name if loader is not None else "agent"

    def program(self, image: Image, always: bool = False) -> bool:
        """Program the image, unless the agent says that it runs it; return whether it was programmed.

        What the agent says afterwards is compared when the trial greets it.

        Raises:
            Blocked: another board answers or waits, nobody brings the board into its boot loader, or there is none.
        """
        said = ask_agent(self._port)
        if said is not None:
            _check_board(self._board, said)
            if said["image_digest"] == image.digest and not always:
                return False
        if self._loader is None:
            raise Blocked("flash", self._no_way(image, said))
        self._enter(self._loader, runs=said is not None)
        self._loader.program(image)
        return True

    def _no_way(self, image: Image, said: dict[str, Any] | None) -> str:
        state = "does not answer" if said is None else f"runs another image (digest {said['image_digest']:08X})"
        return f"{self._board.name} has no probe in rig.toml and its agent {state}: name its probe (`probe = ...`), or flash {image.path.name} by hand."

    def _enter(self, loader: BootLoader, runs: bool) -> None:
        """Bring the board into its boot loader: by its agent where that runs and can, else by a person; and wait for it."""
        if runs:
            if loader.waits():
                raise Blocked(
                    "identity",
                    f"a board waits in its boot loader while the agent of {self._board.name} answers: it is another one, unplug it; nothing was flashed.",
                )
            if leave_for_boot_loader(self._port) and _appears(loader, APPEAR_S):
                return
        elif loader.waits():
            return
        self._tell(f"{self._board.name} needs its boot loader: {loader.button} (within {ENTER_S:.0f} s).")
        if not _appears(loader, ENTER_S):
            raise Blocked(
                "flash",
                f"{self._board.name} was not in its boot loader within {ENTER_S:.0f} s: {loader.button}, and run again.",
            )

    def start(self) -> None:
        """The boot loader has started the image."""

    def close(self) -> None:
        """There is nothing to let go of: the port is the target's."""


def ask_agent(port: SerialPort, deadline_s: float = ANSWER_S) -> dict[str, Any] | None:
    """Return what an agent says of itself (`hello`), None when none answers that speaks this protocol."""
    try:
        return Session(port, fresh_nonce()).hello(deadline_s)
    except (
        Blocked,
        DeviceFault,
    ):  # nothing there, another version, or a processor that has faulted: all of them are replaced
        return None


def leave_for_boot_loader(port: SerialPort) -> bool:
    """Ask the agent to leave for the board's own boot loader; return whether it goes, as far as can be told.

    False: the agent says that there is none, is older than the request, or faulted. Silence may be the answer of one that has gone: True.
    """
    session = Session(port, fresh_nonce())
    try:
        session.hello(ANSWER_S)
        session.request("boot_loader", deadline_s=LEAVE_S)
    except (Refused, DeviceFault):
        return False
    except Blocked:
        return True
    return True


def _appears(loader: BootLoader, within_s: float) -> bool:
    """Wait for the board in its boot loader; return whether it came."""
    until = time.monotonic() + within_s
    while not loader.waits():
        if time.monotonic() > until:
            return False
        time.sleep(POLL_S)
    return True


def _check_board(board: Board, said: dict[str, Any]) -> None:
    name = board_name(said)
    if name != board.name:
        raise Blocked(
            "identity",
            f"the board says it is {name!r}, not {board.name!r}: put its serial port right in rig.toml; nothing was flashed.",
        )
