"""A debug probe, through pyOCD: flash, read back, reset, read memory; every call with a deadline."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from pyocd.core.exceptions import Error as PyocdError
from pyocd.core.helpers import ConnectHelper
from pyocd.core.session import Session
from pyocd.flash.loader import FlashLoader

from hil.boards import Board, Image
from hil.errors import Blocked
from hil.targets import connect, stm32f746, stm32h7b3

DEADLINE_S = 30.0
CLOSE_DEADLINE_S = 3.0

T = TypeVar("T")


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
        stm32f746.register()
        logging.getLogger("pyocd").setLevel(logging.ERROR)
        self._id = unique_id
        self._hung = False
        self._session: Session = self._within("connect", lambda: self._connect(board))

    def _connect(self, board: Board) -> Session:
        session = ConnectHelper.session_with_chosen_probe(
            unique_id=self._id,
            blocking=False,
            return_first=False,
            target_override=board.pyocd_target,
            options=connect.options(board.pyocd_target or ""),
        )
        if session is None:
            raise Blocked(
                "probe",
                f"the probe {self._id} is not attached: plug it in, or put its serial number right in rig.toml.",
            )
        session.open()
        return session

    def _within(self, what: str, action: Callable[[], T], deadline_s: float = DEADLINE_S) -> T:
        """Run a call of pyOCD with a deadline: its libraries may wait, or spin, for ever on a probe that is gone.

        The call runs on a thread of its own, which is left behind when it hangs; the probe is then not used again.
        """
        done: queue.Queue[tuple[bool, Any]] = queue.Queue()

        def run() -> None:
            try:
                done.put((True, action()))
            except Exception as error:  # handed on to the caller's thread below
                done.put((False, error))

        if self._hung:
            raise Blocked("probe", f"the probe {self._id} hung before: plug it out and in, and run again.")
        threading.Thread(target=run, daemon=True, name=f"probe: {what}").start()
        try:
            succeeded, result = done.get(timeout=deadline_s)
        except queue.Empty:
            self._hung = True
            raise Blocked(
                "probe",
                f"the probe {self._id} did not {what} within {deadline_s:.0f} s: plug it out and in, and run again.",
            ) from None
        if succeeded:
            return result  # type: ignore[no-any-return]
        if isinstance(result, (PyocdError, OSError, ValueError)):
            raise Blocked(
                "probe",
                f"the probe {self._id} failed to {what} ({result}): check its cable, the board's power and that no other "
                "program uses it.",
            ) from result
        raise result

    @property
    def _target(self) -> Any:
        return self._session.target

    def flash(self, image: Image) -> bool:
        """Program the image unless the flash already holds it, and read it back; return whether it was programmed.

        Raises:
            Blocked: the probe failed, or what was read back differs.
        """
        return self._within("flash the image", lambda: self._flash(image))

    def _flash(self, image: Image) -> bool:
        self._target.reset_and_halt()
        if self._holds(image):
            return False
        loader = FlashLoader(self._session, progress=_quiet)
        for address, data in image.segments:
            loader.add_data(address, data)
        loader.commit()
        self._target.reset_and_halt()
        if not self._holds(image):
            raise Blocked(
                "flash",
                f"what the probe {self._id} reads back differs from {image.path.name}: run again; "
                "if it stays, the flash is worn or locked.",
            )
        return True

    def _holds(self, image: Image) -> bool:
        return all(
            bytes(self._target.read_memory_block8(address, len(data))) == data for address, data in image.segments
        )

    def reset(self) -> None:
        """Reset the board and let it run."""
        self._within("reset the board", self._target.reset)

    def read(self, address: int, size: int) -> bytes:
        """Read `size` bytes of the board's memory while it runs."""
        start, end = address & ~3, (address + size + 3) & ~3
        words = self._within(
            f"read {size} bytes at 0x{address:08X}",
            lambda: self._target.read_memory_block32(start, (end - start) // 4),
        )
        flat = b"".join(word.to_bytes(4, "little") for word in words)
        return flat[address - start : address - start + size]

    def close(self) -> None:
        """Let go of the probe; the board keeps running."""
        with contextlib.suppress(Blocked):
            self._within("let go", self._session.close, CLOSE_DEADLINE_S)


def _quiet(progress: float) -> None:
    """Take pyOCD's progress and draw no bar: the terminal is pytest's."""
