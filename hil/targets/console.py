"""What a firmware prints by semihosting through a probe, as a serial port: a pseudo-terminal."""

from __future__ import annotations

import contextlib
import os
import termios
import tty

MOST = 4 << 20  # bytes that are kept for a reader that is away; after that the firmware waits, as it does at a pipe
PIECE = 1 << 16


class Console:
    """A pseudo-terminal that changes no byte; what is written to it is discarded.

    Attributes:
        path: of the end that the rig opens.
    """

    def __init__(self) -> None:
        self._ours, self._theirs = os.openpty()  # the second stays open: the port is there without a reader
        tty.setraw(self._theirs)
        os.set_blocking(self._ours, False)
        self.path = os.ttyname(self._theirs)
        self._pending = bytearray()

    def write(self, data: bytes) -> None:
        """Print bytes; what the port does not take now is kept."""
        self._pending += data
        self.pump()

    def pump(self) -> None:
        """Move to the port what it takes now."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._ours, PIECE)
        with contextlib.suppress(BlockingIOError):
            while self._pending:
                del self._pending[: os.write(self._ours, self._pending[:PIECE])]

    @property
    def is_empty(self) -> bool:
        """Whether all that was printed is in the port."""
        return not self._pending

    @property
    def is_full(self) -> bool:
        """Whether the firmware must wait until the port is read."""
        return len(self._pending) >= MOST

    def discard(self) -> None:
        """Discard what was printed and nobody has read."""
        self._pending.clear()
        termios.tcflush(self._theirs, termios.TCIOFLUSH)
