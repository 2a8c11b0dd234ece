"""QEMU whose firmware asks this computer for files, output and an end: semihosting.

Source: Arm, "Semihosting for AArch32 and AArch64". The firmware ends QEMU, with an exit code, and a reset starts it
again: for the rig it is a command, with a GDB stub beside it.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from hil.boards import Board
from hil.child_process import script_command
from hil.errors import Blocked
from hil.images import Image
from hil.process_time import LOOK_S, AbleTime
from hil.standins import confined
from hil.standins.command import ANSWER_S, CommandBoard
from hil.standins.endable import FILES
from hil.standins.qemu import GDB, SOCKETS, fatal_error, machine

# UART0 and the console of semihosting share one port. Without that `-echr`, the sharing would take one byte of those to
# the firmware as a command.
CONSOLE = (
    "-chardev", "stdio,id=console,mux=on,signal=off", "-echr", "0x100", "-serial", "chardev:console",
    "-semihosting-config", "enable=on,target=native,chardev=console",
)  # fmt: skip
UNCONFINED = (
    "nothing confines the files that the firmware names: this system has no Landlock (Linux 5.13), and QEMU opens any "
    "path."
)


class SemihostedQemu(CommandBoard):
    """A machine of QEMU with semihosting; it begins with a reset.

    Args:
        board: catalogue entry.
        image: firmware.
        log: file for QEMU's standard error.
        folder: of the test; the firmware works in a folder of its own in it.

    Raises:
        Blocked: QEMU is not installed.
    """

    what = "firmware"

    def __init__(self, board: Board, image: Image, log: Path, folder: Path) -> None:
        files = folder.absolute() / FILES
        sockets = Path(tempfile.mkdtemp(prefix=SOCKETS))
        self._gdb, self._catalogue = sockets / GDB, board
        words = machine(board, image, self._gdb)
        may = "--all", str(files), str(sockets), "--read", str(image.path.absolute()), "--"
        confinement = script_command(confined.__file__, *may)
        words[words.index("-kernel") + 1] = str(image.path.absolute())
        files.mkdir(parents=True, exist_ok=True)
        self.caveat = None if confined.version() else UNCONFINED
        super().__init__(
            board.name, "qemu", [*confinement, *words, *CONSOLE], (), {}, files, log, gdb=self._gdb, own_folder=sockets
        )

    def start(self, while_stopped: Callable[[], None]) -> None:
        """Start QEMU, after the end of one that runs, and wait for its GDB stub. Raises as `CommandBoard.start`."""
        self._gdb.unlink(missing_ok=True)
        super().start(lambda: self._begin_log(while_stopped))
        able = AbleTime(self.lost_s)
        while not self._gdb.exists() and self.ended() is None:
            if able.seconds > ANSWER_S:
                raise Blocked("bench", f"QEMU of {self._board} offered no GDB stub within {ANSWER_S:g} s: run again.")
            time.sleep(LOOK_S)

    def _begin_log(self, while_stopped: Callable[[], None]) -> None:
        self._log_begin = self.log.stat().st_size  # a fault before the reset is none after it
        while_stopped()

    def chip_fault(self, image: Image) -> str | None:
        """Return the fatal error that QEMU logged, as `fatal_error`."""
        return fatal_error(self.log_text(), image, self._catalogue)
