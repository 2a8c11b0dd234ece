"""Answers to the requests of a firmware by semihosting (Arm, "Semihosting for AArch32 and AArch64").

pyOCD's agent has the requests of files and the table of requests; here are those that it leaves open, strings of any
length, a console that gives no input, and limits: a request has any numbers that the firmware puts there.
"""

from __future__ import annotations

import enum
import errno
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyocd.core.exceptions import Error as PyocdError
from pyocd.core.exceptions import TransferError
from pyocd.coresight.cortex_m import CortexM
from pyocd.debug.context import DebugContext
from pyocd.debug.semihost import BKPT_INSTR, STDERR_FD, STDIN_FD, STDOUT_FD, SemihostAgent
from pyocd.debug.semihost import SemihostingRequests as Request

from hil.targets.confined_files import FAILED, ConfinedFiles
from hil.targets.console import Console

APPLICATION_EXIT = 0x20026  # ADP_Stopped_ApplicationExit
OTHER_EXIT = 1  # exit code of another reason
CODES = 0xFF  # exit codes have 8 bits, as those of a process
LARGEST = 16 << 20  # bytes of one request: more than any board of the catalogue has
PIECE = 1 << 14  # bytes of memory from one report of progress to the next
SHORT, LONG = (
    64,
    1024,
)  # pieces in which the end of a string is looked for, at their multiples: the memory may end there
TICKS = 1_000_000_000  # of SYS_ELAPSED a second


class Looked(enum.Enum):
    """What a look at a core finds."""

    RUNS = enum.auto()
    SERVED = enum.auto()  # a request was answered
    WAITS = enum.auto()  # in a request for input, or until the console is read
    ENDED = enum.auto()  # by SYS_EXIT; it stays halted
    STOPPED = enum.auto()  # for another reason


class SemihostWait(Exception):
    """The request is for input, which never comes."""


class Agent(SemihostAgent):  # type: ignore[misc]
    """Serves the requests of one start of a firmware.

    Args:
        context: of the core.
        files: what it may open.
        console: for its output.
        errors: file to which its errors are appended.
        progress: called now and then while a request is served.

    Attributes:
        context: of the core; another one after the probe was connected again.
        exit_code: of SYS_EXIT; None before it.
    """

    context: Any

    def __init__(
        self, context: DebugContext, files: ConfinedFiles, console: Console, errors: Path, progress: Callable[[], None]
    ) -> None:
        super().__init__(context, files)
        self._output, self._errors, self._progress = console, errors, progress
        self._began = time.monotonic_ns()
        self.exit_code: int | None = None

    def serve(self) -> Looked:
        """Answer the request at which a core has halted, if there is one; the core stays halted.

        A BKPT that the core has executed is told from a halt by DFSR (ARM DDI 0403E.e, C1.6.1; Armv6-M has it too), and
        from a breakpoint of the probe at this address, which has the same flag, by the list of these.
        """
        context = self.context
        if not context.read32(CortexM.DFSR) & CortexM.DFSR_BKPT:
            return Looked.STOPPED
        pc, operation, parameter = context.read_core_registers_raw(["pc", "r0", "r1"])
        if context.core.find_breakpoint(pc) is not None or context.read16(pc) != BKPT_INSTR:
            return Looked.STOPPED
        if self._output.is_full:
            return Looked.WAITS
        try:
            result = self._answer(operation, parameter)
        except SemihostWait:
            return Looked.WAITS
        context.write_core_registers_raw(["r0", "pc"], [result & 0xFFFF_FFFF, pc + 2])
        return Looked.SERVED if self.exit_code is None else Looked.ENDED

    def _answer(self, operation: int, parameter: int) -> int:
        handler = self._REQUEST_MAP.get(operation)
        try:
            return int(handler(self, parameter)) if handler is not None else FAILED
        except (PyocdError, OSError):  # the firmware has named memory that does not answer, or no file
            return FAILED

    # Memory.

    def get_data(self, ptr: int, length: int | None = None) -> bytes:
        """Return memory: `length` bytes, or up to a zero. Raises OSError if they are too many."""
        if length is None:
            return self._string(ptr)
        data = bytearray()
        while len(data) < self.limited(length, errno.EINVAL):
            data += bytes(self.context.read_memory_block8(ptr + len(data), min(PIECE, length - len(data))))
            self._progress()
        return bytes(data)

    def put_data(self, ptr: int, data: bytes) -> None:
        """Write memory."""
        for at in range(0, len(data), PIECE):
            self.context.write_memory_block8(ptr + at, list(data[at : at + PIECE]))
            self._progress()

    def limited(self, length: int, number: int = 0) -> int:
        """Return a length, `LARGEST` at most. Raises OSError with a `number` if it is larger."""
        if number and length > LARGEST:
            raise OSError(number, "")
        return min(length, LARGEST)

    def _string(self, ptr: int) -> bytes:
        data, size = bytearray(), SHORT
        while len(data) < LARGEST:
            at = ptr + len(data)
            try:
                piece = bytes(self.context.read_memory_block8(at, size - at % size))
            except TransferError:  # the memory ends before the string does
                break
            text, end, _ = piece.partition(b"\0")
            data += text
            if end:
                break
            size = LONG
            self._progress()
        return bytes(data)

    # The console.

    def handle_sys_writec(self, args: int) -> int:
        """Print a character."""
        self._output.write(self.get_data(args, 1))
        return 0

    def handle_sys_write0(self, args: int) -> int:
        """Print a string."""
        self._output.write(self.get_data(args))
        return 0

    def handle_sys_write(self, args: int) -> int:
        """Write to the console, to its errors, or to a file."""
        handle, pointer, length = self._get_args(args, 3)
        if handle == STDOUT_FD:
            self._output.write(self.get_data(pointer, length))
            return 0
        if handle == STDERR_FD:
            with self._errors.open("ab") as errors:
                errors.write(self.get_data(pointer, length))
            return 0
        return int(self.io_handler.write(handle, pointer, length))

    def handle_sys_read(self, args: int) -> int:
        """Read a file; at the console nobody gives input."""
        handle, pointer, length = self._get_args(args, 3)
        if handle == STDIN_FD:
            raise SemihostWait
        return int(self.io_handler.read(handle, pointer, length))

    def handle_sys_readc(self, args: int) -> int:
        """Wait for ever: nobody gives input."""
        raise SemihostWait

    # The end.

    def handle_sys_exit(self, args: int) -> int:
        """End with 0, or with 1 if the reason is another than the end of the application."""
        self.exit_code = 0 if args == APPLICATION_EXIT else OTHER_EXIT
        return 0

    def handle_sys_exit_extended(self, args: int) -> int:
        """End with a code."""
        reason, code = self._get_args(args, 2)
        self.exit_code = code & CODES if reason == APPLICATION_EXIT else OTHER_EXIT
        return 0

    # Time and the rest.

    def handle_sys_iserror(self, args: int) -> int:
        """Return 1 of a status that is negative."""
        status: int = self._get_args(args, 1)
        return status >> 31

    def handle_sys_time(self, args: int) -> int:
        """Return the seconds since 1970, UTC."""
        return int(time.time())

    def handle_sys_elapsed(self, args: int) -> int:
        """Write the ticks since the start."""
        ticks = time.monotonic_ns() - self._began
        self.context.write_memory_block32(args, [ticks & 0xFFFF_FFFF, ticks >> 32])
        return 0

    def handle_sys_tickfreq(self, args: int) -> int:
        """Return the ticks of a second."""
        return TICKS

    def handle_sys_system(self, args: int) -> int:
        """Execute nothing."""
        return FAILED

    def handle_sys_get_cmdline(self, args: int) -> int:
        """Give an empty command line."""
        pointer, length = self._get_args(args, 2)
        if length < 1:
            return FAILED
        self.put_data(pointer, b"\0")
        self.context.write32(args + 4, 0)
        return 0

    def handle_sys_tmpnam(self, args: int) -> int:
        """Give a name in the folder."""
        pointer, number, length = self._get_args(args, 3)
        name = b"tmp-%02x\0" % (number & 0xFF)
        if length < len(name):
            return FAILED
        self.put_data(pointer, name)
        return 0

    _REQUEST_MAP = SemihostAgent._REQUEST_MAP | {
        Request.SYS_WRITEC: handle_sys_writec, Request.SYS_WRITE0: handle_sys_write0,
        Request.SYS_WRITE: handle_sys_write, Request.SYS_READ: handle_sys_read, Request.SYS_READC: handle_sys_readc,
        Request.SYS_EXIT: handle_sys_exit, Request.SYS_EXIT_EXTENDED: handle_sys_exit_extended,
        Request.SYS_ISERROR: handle_sys_iserror, Request.SYS_TIME: handle_sys_time,
        Request.SYS_ELAPSED: handle_sys_elapsed, Request.SYS_TICKFREQ: handle_sys_tickfreq,
        Request.SYS_SYSTEM: handle_sys_system, Request.SYS_GET_CMDLINE: handle_sys_get_cmdline,
        Request.SYS_TMPNAM: handle_sys_tmpnam,
    }  # fmt: skip
