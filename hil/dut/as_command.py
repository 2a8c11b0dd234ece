"""A device under test that can end, a command of rig.toml or firmware with semihosting: its folder and exit code."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from hil.command_line import last_lines
from hil.dut.caught import Raised, remembered
from hil.dut.dut_serial import DutSerial
from hil.dut.expectations import CommandEnded
from hil.dut.expecter import Deadline
from hil.dut.record import DutRecord
from hil.dut.requests import check_timeout
from hil.errors import DeviceFault, RigError
from hil.images import Image
from hil.process_time import LOOK_S
from hil.rig import Taken
from hil.standins import Endable, Ended

BENCH_LOG = "bench.log"
EXIT_S = 60.0


class AsCommand:
    """What a device has that can end. Each member raises RigError of another device.

    Attributes:
        image: the firmware.
        record: what happened so far.
        raised: errors other than time-outs that a method has raised; the test may have caught them.
        judges_exit: whether the test has asked for the exit code after the end.
    """

    image: Image
    record: DutRecord
    raised: Raised
    _taken: Taken
    _folder: Path
    _serial: DutSerial | None = None
    judges_exit = False
    _saw_fault = False  # whether the test has asked for one since the start, and was told
    _too_late: Callable[[], RigError] | None = None  # the error of a use from now on

    @property
    @remembered
    def folder(self) -> Path:
        """Working folder of the command or of the firmware, of this test alone."""
        return self._endable().folder_of_files

    @property
    @remembered
    def exit_code(self) -> int | None:
        """Exit code, minus the number of the signal that ended it; None while it runs.

        A test that asks for it after the end judges it. Without that, the test fails if the command fails.

        Raises:
            RigError: the command was not started.
            DeviceFault: a lockup of the emulated core has ended it.
        """
        self._check_in_time()
        ended = self._endable().ended()
        if ended is None:
            return None
        fault = self._chip_fault()
        if fault is not None:
            self._saw_fault = True
            raise fault
        self.judges_exit, self.record.exit_code = True, ended.status
        return ended.status

    @remembered
    def wait(self, timeout: float = EXIT_S) -> int:
        """Wait until the command ends, and return its exit code, as `exit_code`.

        Args:
            timeout: in seconds.

        Raises:
            DeviceFault: it did not end in time, or the emulated core is locked up.
            RigError: the time-out is none.
        """
        check_timeout(timeout)
        ends = Deadline(timeout, self._taken.lost_s)
        while (code := self.exit_code) is None:
            self._taken.alive()
            if ends.is_over:
                last = self._serial.arrived() if self._serial is not None else b""
                raise DeviceFault(
                    f"the {self.what_ends} of {self._taken.board.name} did not end within {timeout:g} s; the last "
                    f"lines of its output: {last_lines(last.decode(errors='replace'))}."
                )
            time.sleep(LOOK_S)
        return code

    @remembered
    def failed(self) -> DeviceFault | None:
        """Return the error of a command that failed, unless the test has asked for its exit code; else None.

        So a test may wait for what is not printed: `while dut.failed() is None and not there(): ...`.

        Raises as `alive` of a device that has no exit code: a loop ends when its stand-in is gone.
        """
        self._check_in_time()
        if self._taken.endable is None:
            self.alive()
        return self._ended_badly()

    def _ended_badly(self) -> DeviceFault | None:
        """Return what `failed` does, of a device that can end."""
        endable = self._taken.endable
        if endable is None or not endable.was_started or self.judges_exit:
            return None
        ended = endable.ended()
        if ended is None:
            return None
        return self._ended(ended) if ended.status else None

    def _end(self) -> DeviceFault | None:
        """Return the error of a device that has ended; None while it runs, or if it cannot end."""
        endable = self._taken.endable
        ended = endable.ended() if endable is not None else None
        return self._ended(ended) if ended is not None else None

    def _check_in_time(self) -> None:
        """Raise the error of `Dut.end` if the test that had the device has ended."""
        if self._too_late is not None:
            raise self._too_late()

    def _endable(self) -> Endable:
        if self._taken.endable is None:
            raise RigError(
                f"{self._taken.board.name} is no command here: only a board with `run` in rig.toml, or on QEMU or at a "
                "debug probe with --semihosting, has a folder and an exit code."
            )
        return self._taken.endable

    @property
    def what_ends(self) -> str:
        """What an exit code is of, in messages: `command` or `firmware`."""
        return self._endable().what

    def alive(self, within_s: float = 0.0) -> None:
        """Raise Blocked if the stand-in or the labgrid place is gone, or within some seconds will be.

        It raises DeviceFault if a lockup of the emulated core has ended the stand-in; of a command, if the command has
        ended and all that it printed was read. A board that is attached to this computer is never gone.
        """
        try:
            self._taken.alive(within_s)
        except DeviceFault as fault:
            self.record.fault(str(fault))
            raise
        endable = self._taken.endable
        ended = endable.ended(drained=True) if endable is not None else None
        if ended is not None:
            raise self._ended(ended)

    def _chip_fault(self) -> DeviceFault | None:
        """Return what the chip of a stand-in has reported, which also explains its end."""
        sentence = self._taken.chip_fault(self.image)
        if sentence is not None:
            self.record.fault(sentence)
        return DeviceFault(sentence) if sentence is not None else None

    def _ended(self, ended: Ended) -> DeviceFault:
        self.record.exit_code = ended.status
        fault = self._chip_fault() if ended.status else None
        if fault is not None:
            return fault
        log = self._folder / BENCH_LOG
        said = log.read_text(errors="replace") if log.exists() else ""
        last = self._serial.recent if self._serial is not None else b""
        late_s = self._endable().timeout_s if ended.late else None
        return CommandEnded(
            ended.status, late_s, last_lines(last.decode(errors="replace")), last_lines(said), self.what_ends
        )
