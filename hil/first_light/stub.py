"""The stub that a core runs from RAM in a first light, and how the host starts it and reads what it did."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from hil.boards import Board
from hil.errors import DeviceFault, RigError
from hil.steady_clock import steady_s
from hil.targets.core_probe import CoreProbe

# stub.S, assembled: instructions of Armv6-M, which every Cortex-M executes, and three constants.
WORDS = (
    0x4834B672, 0x24006078, 0x68FD60BC, 0x02362604, 0x683819F6, 0xD00A2801, 0xD0122802, 0xD0242803,
    0xD02C2804, 0xD0342805, 0x60BC3401, 0xBF30E7FC, 0x60BC3401, 0x21014828, 0x600106C9, 0x8F4FF3BF,
    0xF000E7F5, 0xF000F838, 0x6BBAF840, 0x6A796A38, 0x68136001, 0x3D0163FB, 0x6813D1FD, 0x6AB8643B,
    0x60016AF9, 0xF831F000, 0xF000E01D, 0x69F8F824, 0x55316801, 0x60BC3401, 0xD1F642AC, 0xF000E013,
    0x69F8F81A, 0x60015D31, 0x60BC3401, 0xD1F642AC, 0x69F8E009, 0x68012200, 0x30041852, 0x42AC3401,
    0x63FAD1F9, 0x6B3860BC, 0xD0012800, 0x60016B79, 0x6078480A, 0x6938E7FE, 0xD0052800, 0x69BA6979,
    0x40536803, 0xD0FB420B, 0x6C784770, 0xD5FD3801, 0x00004770, 0x600DC0DE, 0xE000ED04, 0x0000D04E,
)  # fmt: skip
FIELDS = ("command", "state", "count", "limit", "status", "status_mask", "status_flip", "data", "on", "on_value",
          "off", "off_value", "done", "done_value", "counter", "before", "after", "settle")  # fmt: skip
CODE_AT, BUFFER_AT, BUFFER_BYTES = 0x80, 0x400, 1024  # from the block of parameters on
SIZE = BUFFER_AT + BUFFER_BYTES
BEGUN, FINISHED = 0x600D_C0DE, 0x0000_D04E
# ARM DDI 0403E.e, B3.1: the region of SRAM, from which instructions may be fetched. What the boards here have at its
# begin is behind no cache: a TCM on a Cortex-M7. pyOCD's own flash algorithms run there.
RAM_BASE, RAM_END = 0x2000_0000, 0x4000_0000
THUMB = 1 << 24  # xPSR.T
LOOK_S, WITHIN_S = 0.05, 10.0  # each look stops the core of a stand-in for a moment


class Command(IntEnum):
    """What the stub does (stub.S)."""

    SPIN = 0
    SLEEP = 1
    PULSE = 2
    RECEIVE = 3
    SEND = 4
    SUM = 5


@dataclass(frozen=True)
class Done:
    """The block of parameters as the stub has left it; the fields have the names of stub.S."""

    state: int
    count: int
    before: int
    after: int

    @property
    def has_begun(self) -> bool:
        """Whether the first instructions have run."""
        return self.state in (BEGUN, FINISHED)

    @property
    def is_finished(self) -> bool:
        """Whether the command is over."""
        return self.state == FINISHED


def place_of(board: Board) -> int:
    """Return the address of the stub in RAM: 0x20000000, or the begin of the largest RAM above it.

    Raises RigError if the board has no RAM in the region of memory for SRAM.
    """
    places = [
        (memory.size, max(memory.start, RAM_BASE))
        for memory in board.memory
        if memory.kind == "ram" and RAM_BASE + SIZE <= memory.start + memory.size <= RAM_END
    ]
    if not places:
        raise RigError(
            f"{board.name} has no RAM of {SIZE} bytes from 0x{RAM_BASE:08X} to 0x{RAM_END - 1:08X}, "
            "where the stub runs."
        )
    starts = [start for _, start in places]
    return RAM_BASE if RAM_BASE in starts else max(places)[1]


class Stub:
    """The stub in the RAM of a board.

    Args:
        board: catalogue entry.
        probe: at its core.
    """

    def __init__(self, board: Board, probe: CoreProbe) -> None:
        self.place, self._probe = place_of(board), probe

    def start(self, command: Command, **fields: int) -> None:
        """Halt the core, write stub and parameters, and let it begin.

        Raises DeviceFault if RAM does not hold what was written.
        """
        self._probe.halt()
        values = dict.fromkeys(FIELDS, 0) | {"command": int(command)} | fields
        block = b"".join(values[name].to_bytes(4, "little") for name in FIELDS).ljust(CODE_AT, b"\0")
        self.write(0, block + b"".join(word.to_bytes(4, "little") for word in WORDS))
        self._probe.begin({
            "r7": self.place, "sp": self.place + BUFFER_AT, "xpsr": THUMB, "pc": self.place + CODE_AT,
        })  # fmt: skip

    def write(self, offset: int, data: bytes) -> None:
        """Write the stub's memory and read it back. Raises DeviceFault if it holds something else."""
        at = self.place + offset
        if not self._probe.write_ram(at, data) or self._probe.read_ram(at, len(data)) != data:
            raise DeviceFault(f"the RAM at 0x{at:08X} does not hold the {len(data)} bytes that were written there.")

    def look(self) -> Done:
        """Return what the stub has done so far. The core is not halted. Raises DeviceFault if the RAM is not there."""
        data = self._probe.read_ram(self.place, 4 * len(FIELDS))
        if data is None:
            raise DeviceFault(f"the RAM at 0x{self.place:08X} cannot be read while the core runs from it.")
        word = {name: int.from_bytes(data[4 * n : 4 * n + 4], "little") for n, name in enumerate(FIELDS)}
        return Done(word["state"], word["count"], word["before"], word["after"])

    def until(self, enough: Callable[[Done], bool], seconds: float = WITHIN_S) -> Done:
        """Wait until the stub has done enough, or nothing for so many seconds; return what it has done then."""
        before, end = None, steady_s() + seconds
        while not enough(done := self.look()) and steady_s() < end:
            if done != before:
                before, end = done, steady_s() + seconds
            time.sleep(LOOK_S)
        return done

    def buffer(self, size: int) -> bytes:
        """Return the first bytes of the stub's buffer."""
        return self._probe.read_ram(self.place + BUFFER_AT, size) or b""
