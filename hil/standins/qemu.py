"""QEMU as a stand-in: it loads the ELF file itself and offers a pseudo-terminal; it has no probe and no meter."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from hil.boards import Board, Image
from hil.endpoints import Endpoints
from hil.errors import Blocked
from hil.standins.process import StandIn

PROGRAM = "qemu-system-arm"
PTY = re.compile(r"char device redirected to (\S+) \(label uart0\)")


def start_qemu(board: Board, image: Image, log: Path) -> StandIn:
    """Start QEMU with the board's image and return it with its endpoints.

    Virtual time follows the count of executed instructions (`-icount`), so that SysTick counts are repeatable.

    Raises:
        Blocked: QEMU is missing or did not come up.
    """
    if shutil.which(PROGRAM) is None:
        raise Blocked(
            "bench", f"{PROGRAM} is not installed, and {board.name} runs on nothing else: apt install qemu-system-arm."
        )
    command = [
        PROGRAM, "-M", str(board.qemu_machine), "-kernel", str(image.path), "-display", "none", "-monitor", "none",
        "-icount", "shift=5", "-chardev", "pty,id=uart0", "-serial", "chardev:uart0",
    ]  # fmt: skip

    def announced(line: str) -> Endpoints | None:
        found = PTY.search(line)
        return Endpoints(board.name, "qemu", serial=found[1]) if found else None

    return StandIn(command, announced, log)
