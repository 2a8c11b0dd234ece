"""A debug probe, through pyOCD: flash, read back, reset, read memory."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

from pyocd.core.exceptions import Error as PyocdError
from pyocd.core.helpers import ConnectHelper
from pyocd.core.session import Session
from pyocd.flash.loader import FlashLoader

from hil.boards import Board, Image
from hil.errors import Blocked
from hil.targets import stm32h7b3

OPTIONS: dict[str, Any] = {
    "auto_unlock": False,  # true would mass-erase a locked chip without asking
    "no_config": True,  # a pyocd.yaml in the working folder is not ours
    "resume_on_disconnect": True,
    "connect_mode": "under-reset",
    "chip_erase": "sector",
}


class Probe:
    """One pyOCD session on one probe.

    Args:
        board: catalogue entry.
        unique_id: the full id of the probe; nothing is chosen by order.

    Raises:
        Blocked: no such probe, or it cannot connect.
    """

    def __init__(self, board: Board, unique_id: str) -> None:
        stm32h7b3.register()
        logging.getLogger("pyocd").setLevel(logging.ERROR)
        self._id = unique_id
        with self._stage("connect"):
            session = ConnectHelper.session_with_chosen_probe(
                unique_id=unique_id,
                blocking=False,
                return_first=False,
                target_override=board.pyocd_target,
                options=OPTIONS,
            )
            if session is None:
                raise Blocked(
                    "probe",
                    f"the probe {unique_id} is not attached: plug it in, or put its serial number right in rig.toml.",
                )
            session.open()
        self._session: Session = session

    @contextlib.contextmanager
    def _stage(self, what: str) -> Iterator[None]:
        try:
            yield
        except (PyocdError, OSError, ValueError) as error:
            raise Blocked(
                "probe",
                f"the probe {self._id} failed to {what} ({error}): check its cable, the board's power and that no other program uses it.",
            ) from error

    @property
    def _target(self) -> Any:
        return self._session.target

    def flash(self, image: Image) -> bool:
        """Program the image unless the flash already holds it, and read it back; return whether it was programmed.

        Raises:
            Blocked: the probe failed, or what was read back differs.
        """
        with self._stage("flash the image"):
            self._target.reset_and_halt()
            programmed = not self._holds(image)
            if programmed:
                loader = FlashLoader(self._session, progress=_quiet)
                for address, data in image.segments:
                    loader.add_data(address, data)
                loader.commit()
                self._target.reset_and_halt()
            if programmed and not self._holds(image):
                raise Blocked(
                    "flash",
                    f"what the probe {self._id} reads back differs from {image.path.name}: run again; if it stays, the flash is worn or locked.",
                )
        return programmed

    def _holds(self, image: Image) -> bool:
        return all(
            bytes(self._target.read_memory_block8(address, len(data))) == data for address, data in image.segments
        )

    def reset(self) -> None:
        """Reset the board and let it run."""
        with self._stage("reset the board"):
            self._target.reset()

    def read(self, address: int, size: int) -> bytes:
        """Read `size` bytes of the board's memory while it runs."""
        with self._stage(f"read {size} bytes at 0x{address:08X}"):
            start, end = address & ~3, (address + size + 3) & ~3
            words = self._target.read_memory_block32(start, (end - start) // 4)
            flat = b"".join(word.to_bytes(4, "little") for word in words)
        return flat[address - start : address - start + size]

    def close(self) -> None:
        """Let go of the probe; the board keeps running."""
        with contextlib.suppress(PyocdError, OSError):
            self._session.close()


def _quiet(progress: float) -> None:
    """Take pyOCD's progress and draw no bar: the terminal is pytest's."""
