"""QEMU as a stand-in: it loads the ELF file and offers a pseudo-terminal, but no probe and no meter."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from hil.boards import Board
from hil.endpoints import Endpoints
from hil.errors import Blocked
from hil.images import Image
from hil.standins import parent_watchdog
from hil.standins.process import StandIn

PROGRAM = "qemu-system-arm"
FATAL = re.compile(r"^qemu: fatal: (.*)$", re.MULTILINE)  # QEMU then prints the registers and aborts
PTY = re.compile(r"char device redirected to (\S+) \(label uart0\)")


def crash(stand_in: StandIn, image: Image) -> str | None:
    """Return the fatal error that QEMU logged, with its place in the image, as one sentence; None if it logged none."""
    log_text = stand_in.log_text()
    fatal, pc, lr = (
        FATAL.search(log_text),
        re.search(r"\bR15=([0-9a-f]{8})", log_text),
        re.search(r"\bR14=([0-9a-f]{8})", log_text),
    )
    if fatal is None or pc is None or lr is None:
        return None
    return (
        f"the emulated core stopped ({fatal[1]}) at pc {image.place(int(pc[1], 16))}, lr {image.place(int(lr[1], 16))}."
    )


def start_qemu(board: Board, image: Image, log: Path) -> StandIn:
    """Start QEMU with the board's image and return it with its endpoints.

    Virtual time follows the count of executed instructions (`-icount`): SysTick counts are repeatable.

    Raises:
        Blocked: QEMU is not installed or did not start.
    """
    if shutil.which(PROGRAM) is None:
        raise Blocked(
            "bench",
            f"{PROGRAM} is not installed, and it is the only reality of {board.name}: apt install qemu-system-arm.",
        )
    command = [
        sys.executable, "-I", "-S", parent_watchdog.__file__, PROGRAM, "-M", str(board.qemu_machine),
        "-kernel", str(image.path), "-display", "none", "-monitor", "none", "-icount", "shift=5",
        "-chardev", "pty,id=uart0", "-serial", "chardev:uart0",
    ]  # fmt: skip

    def announced(line: str) -> Endpoints | None:
        found = PTY.search(line)
        return Endpoints(board.name, "qemu", serial=found[1]) if found else None

    return StandIn(command, announced, log, PROGRAM)
