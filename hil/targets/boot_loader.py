"""Flash route without a probe: the agent reports the digest of its image; a USB boot loader programs a new one."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any, Protocol

import xxhash

from hil.boards import Board
from hil.endpoints import Verify
from hil.errors import Blocked, DeviceFault
from hil.images import Image
from hil.link.failures import Refused
from hil.link.session import Session, board_name, fresh_nonce
from hil.steady_clock import steady_s
from hil.targets.own_usb import ask_for_boot_loader, is_own_port
from hil.targets.serial_port import SerialPort

ANSWER_S = 2.5  # an agent that runs answers within milliseconds
LEAVE_S = 2.0  # for the agent to acknowledge `boot_loader`; once it has left, it cannot repeat the acknowledgement
APPEAR_S = 15.0  # for the requested boot loader to enumerate, and for the system to mount its drive
ENTER_S = 60.0  # for a person to press the button
POLL_S = 0.25

Tell = Callable[[str], None]


class BootLoader(Protocol):
    """One kind of boot loader on USB.

    Attributes:
        name: its name in the catalogue.
        button: what a person does to enter it, as the end of a sentence.
    """

    name: str
    button: str

    def waits(self) -> bool:
        """Return whether the board waits in its boot loader. Raises `Blocked` if several boards wait."""
        ...

    def program(self, image: Image) -> None:
        """Program the image and start it."""
        ...


class ByBootLoader:
    """Flash route through a boot loader; without one the board must already run the image."""

    def __init__(self, board: Board, port: SerialPort, loader: BootLoader | None, tell: Tell) -> None:
        self._board, self._port, self._loader, self._tell = board, port, loader, tell
        self.name = loader.name if loader is not None else "agent"
        self.verified: Verify = "none"

    def program(self, image: Image, always: bool = False) -> bool:
        """Program the image, unless the agent reports that it runs this image; return whether it was programmed.

        The new image is verified when the trial greets the agent.

        Raises:
            Blocked: another board answers or waits, the board did not enter its boot loader, or it has none.
        """
        hello = ask_agent(self._port)
        if hello is not None:
            if board_name(hello) != self._board.name:
                raise other_board(hello, self._board)
            if hello["image_digest"] == image.digest and not always and holds_cargo(self._port, image):
                self.verified = "agent"
                return False
        if self._loader is None:
            raise Blocked("flash", self._no_route(image, hello))
        self._enter(self._loader, runs=hello is not None)
        self._loader.program(image)
        return True

    def _no_route(self, image: Image, hello: dict[str, Any] | None) -> str:
        name = f"{self._board.name} has no probe in rig.toml and its"
        if hello is not None and hello["image_digest"] == image.digest:
            return (
                f"{name} flash has other bytes beside the image than this trial needs: name its probe (`probe = ...`), "
                "which can write them, or request a trial that needs none."
            )
        state = "does not answer" if hello is None else f"runs another image (digest {hello['image_digest']:08X})"
        return f"{name} agent {state}: name its probe (`probe = ...`), or flash {image.path.name} by hand."

    def _enter(self, loader: BootLoader, runs: bool) -> None:
        """Enter the boot loader and wait for it: through the agent if it runs and can, else by asking the operator.

        A program on the chip's own USB port that is no agent, or hangs, is asked by its rate for that before.
        """
        if runs:
            if loader.waits():
                raise Blocked(
                    "identity",
                    f"another board waits in its boot loader while the agent of {self._board.name} answers: "
                    "unplug the other board; nothing was flashed.",
                )
            if leave_for_boot_loader(self._port) and _appears(loader, APPEAR_S):
                return
        elif loader.waits():
            return
        elif is_own_port(self._board, self._port):
            ask_for_boot_loader(self._board, self._port)
            if _appears(loader, APPEAR_S):
                return
        self._tell(f"{self._board.name} needs its boot loader: {loader.button} (within {ENTER_S:.0f} s).")
        if not _appears(loader, ENTER_S):
            raise Blocked(
                "flash",
                f"{self._board.name} did not enter its boot loader within {ENTER_S:.0f} s: "
                f"{loader.button}, and run again.",
            )


class FromBootLoader:
    """Flash route of a board that waits in its boot loader, and whose port the firmware makes that it does not run.

    The new image is verified when the trial greets the agent.
    """

    def __init__(self, loader: BootLoader) -> None:
        self._loader = loader
        self.name = loader.name
        self.verified: Verify = "none"

    def program(self, image: Image, always: bool = False) -> bool:
        """Program the image; return True. Raises Blocked if it was not accepted."""
        self._loader.program(image)
        return True


def ask_agent(port: SerialPort, deadline_s: float = ANSWER_S) -> dict[str, Any] | None:
    """Return the agent's reply to `hello`; None if no agent of this protocol version answers."""
    try:
        return Session(port, fresh_nonce()).hello(deadline_s)
    except (Blocked, DeviceFault):  # no agent, another version, or a processor fault: all of them are flashed anew
        return None


def holds_cargo(port: SerialPort, image: Image) -> bool:
    """Return whether the flash holds what lies beside the image, by digests of the agent (`keep`, docs/link.md).

    True if there is nothing, or if an older agent cannot tell: then the trial finds out.
    """
    if not image.cargo:
        return True
    session = Session(port, fresh_nonce())
    try:
        session.hello(ANSWER_S)
        for address, data in image.cargo:
            reply = session.request("keep", address=address, total=len(data))
            if reply["digest"] != xxhash.xxh32_intdigest(data):
                return False
    except Refused as refusal:
        return refusal.code == "unknown_request"
    except (Blocked, DeviceFault):  # such as a fault of the processor, which reads what a power cut has left
        return False
    return True


def other_board(hello: dict[str, Any], board: Board) -> Blocked:
    """Return the error of an agent that is on another board."""
    return Blocked(
        "identity",
        f"the board reports the name {board_name(hello)!r}, not {board.name!r}: "
        "correct its serial port in rig.toml; nothing was flashed.",
    )


def leave_for_boot_loader(port: SerialPort) -> bool:
    """Ask the agent to start the board's own boot loader; return whether it probably does.

    False: the agent reports that there is none, is older than this request, or has faulted. No answer counts as True,
    because an agent that has already left does not answer.
    """
    session = Session(port, fresh_nonce())
    try:
        with contextlib.suppress(Blocked):
            session.hello(ANSWER_S)
            session.request("boot_loader", deadline_s=LEAVE_S)
    except (Refused, DeviceFault):
        return False
    return True


def _appears(loader: BootLoader, within_s: float) -> bool:
    """Wait until the board is in its boot loader; return False after `within_s` seconds."""
    until = steady_s() + within_s
    while not loader.waits():
        if steady_s() > until:
            return False
        time.sleep(POLL_S)
    return True
