"""QEMU as a stand-in: it loads the ELF file and offers a pseudo-terminal and a GDB stub, but no probe and no meter."""

from __future__ import annotations

import json
import re
import shutil
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hil.boards import Board
from hil.endpoints import Endpoints
from hil.errors import Blocked, message_of
from hil.images import Image
from hil.images.stack_area import overflow_of
from hil.standins.kinds import StandInKind
from hil.standins.process import StandIn
from hil.standins.qemu_events import QemuEvents

PROGRAM = "qemu-system-arm"
MONITOR, MONITOR_S = "monitor", 20.0  # its socket, and longest time of an answer
GDB, SOCKETS = "gdb", "trainrig-qemu-"  # socket of its GDB stub, and begin of the name of its folder
FATAL = re.compile(r"^qemu: fatal: (.*)$", re.MULTILINE)  # QEMU then prints the registers and aborts
LOCKUP = "Lockup: "  # begin of its words
PTY = re.compile(r"char device redirected to (\S+) \(label uart0\)")


def fatal_error(log_text: str, image: Image, board: Board) -> str | None:
    """Return the fatal error of the core that QEMU logged, with its place in the image, as one sentence."""
    fatal, found = FATAL.search(log_text), [re.search(rf"\bR{n}=([0-9a-f]{{8}})", log_text) for n in (13, 14, 15)]
    registers = [int(each[1], 16) for each in found if each is not None]
    if fatal is None or len(registers) < len(found):
        return None
    sp, lr, pc = registers
    what = "is locked up: it faulted where it cannot handle a fault" if fatal[1].startswith(LOCKUP) else "stopped"
    return (
        f"the emulated core {what} ({fatal[1]}) at pc {image.place(pc)}, lr {image.place(lr)}"
        f"{overflow_of(image, board, sp)}."
    )


def machine(board: Board, image: Image, gdb: Path) -> list[str]:
    """Return the arguments of QEMU for a board with its image, and a GDB stub at a socket.

    Virtual time follows the count of executed instructions (`-icount`): SysTick counts are repeatable.

    Raises:
        Blocked: QEMU is not installed.
    """
    if shutil.which(PROGRAM) is None:
        raise Blocked(
            "bench",
            f"{PROGRAM} is not installed, and it is the only reality of {board.name}: apt install qemu-system-arm.",
        )
    return [
        PROGRAM, "-M", str(board.qemu_machine), "-kernel", str(image.path), "-display", "none", "-monitor", "none",
        "-icount", "shift=5", "-chardev", f"socket,id=gdb,path={gdb},server=on,wait=off", "-gdb", "chardev:gdb",
    ]  # fmt: skip


class Qemu(StandIn):
    """A machine of QEMU for a board. Arguments: the board, its events, and those of `StandIn`."""

    def __init__(self, board: Board, events: QemuEvents, *arguments: Any, **named: Any) -> None:
        self._board, self._events = board, events
        super().__init__(*arguments, **named)

    def own_resets(self) -> int:
        """Return how often the program, or its watchdog, has reset the machine since the last call."""
        return self._events.own_resets()

    def stop(self) -> None:
        """End QEMU."""
        super().stop()
        self._events.close()

    def chip_fault(self, image: Image) -> str | None:
        """Return the fatal error that QEMU logged, as `fatal_error`."""
        return fatal_error(self.log_text(), image, self._board)

    def reset(self, while_stopped: Callable[[], None]) -> bool:
        """Reset the machine: it loads the image again, and RAM that the image does not load keeps its content.

        Raises Blocked if QEMU does not answer.
        """
        assert self.folder is not None
        try:
            with socket.socket(socket.AF_UNIX) as monitor:
                monitor.settimeout(MONITOR_S)
                monitor.connect(str(self.folder / MONITOR))
                with monitor.makefile("rw", encoding="utf-8") as lines:
                    lines.readline()  # its greeting (QEMU Machine Protocol Specification, 2.2)
                    for command in ("qmp_capabilities", "stop", "system_reset", "", "cont"):
                        if not command:
                            while_stopped()
                            continue
                        lines.write(json.dumps({"execute": command}) + "\n")
                        lines.flush()
                        awaited = {"return", "RESET"} if command == "system_reset" else {"return"}
                        while awaited:  # the reset is done after the answer to the command for it
                            said = json.loads(lines.readline())
                            awaited -= {*said, said.get("event")}
        except (OSError, ValueError) as error:
            self.alive(1.0)
            sentence = f"{PROGRAM} does not answer at its monitor ({message_of(error)}): run again."
            raise Blocked("reset", sentence) from error
        return True


def start_qemu(board: Board, image: Image, log: Path) -> StandIn:
    """Start QEMU with the board's image and return it with its endpoints.

    Raises:
        Blocked: QEMU is not installed or did not start.
    """
    folder = Path(tempfile.mkdtemp(prefix=SOCKETS))
    arguments, events = machine(board, image, folder / GDB), QemuEvents(folder)
    command = [
        *arguments, *events.arguments,
        "-qmp", f"unix:{folder / MONITOR},server=on,wait=off",  # before what is announced
        "-chardev", "pty,id=uart0", "-serial", "chardev:uart0",
    ]  # fmt: skip

    def announced(line: str) -> Endpoints | None:
        found = PTY.search(line)
        return Endpoints(board.name, "qemu", serial=found[1], gdb=str(folder / GDB)) if found else None

    return Qemu(board, events, command, announced, log, PROGRAM, folder=folder, image=image)


QEMU = StandInKind(start_qemu)
