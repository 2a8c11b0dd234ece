"""The device under test: a board made live, with any firmware. Every part is opened when it is first needed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

from hil.boards import Board
from hil.dut.as_command import BENCH_LOG
from hil.dut.case_reports.report import CaseReport
from hil.dut.cases import TIMEOUT_S, read_cases
from hil.dut.caught import Raised, remembered
from hil.dut.power import DutPower
from hil.dut.record import DutRecord
from hil.dut.with_flash import WithFlash
from hil.dut.with_meter import WithMeter
from hil.endpoints import Endpoints
from hil.errors import RigError, shown
from hil.images import Image, firmware_of
from hil.rig import Rig, Taken, program_for
from hil.targets.boot_loader import Tell
from hil.targets.serial_port import open_serial


class Dut(WithFlash, WithMeter):
    """A device under test (docs/dut.md); `opened` makes one.

    Args:
        taken: the reserved board.
        image: its firmware.
        folder: for its logs.
        baud: rate of the serial port.
        clock_hz: of the core, if the firmware sets another than that of the catalogue.
        tell: called with sentences for the operator, such as which button to press.
        serial_log: whether all traffic on the serial port is written to a log.

    Attributes:
        image: the firmware.
        record: what happened so far.
        power: `power.cycle()` switches the board's power off and on.
    """

    def __init__(
        self, taken: Taken, image: Image, folder: Path, baud: int | None = None, clock_hz: int | None = None,
        tell: Tell = lambda sentence: None, serial_log: bool = True,
    ) -> None:  # fmt: skip
        self._taken, self.image, self._folder, self._tell, self._logs = taken, image, folder, tell, serial_log
        self._baud = baud or taken.board.baud
        self.erased, self.raised = [], Raised()
        self.record = DutRecord(
            taken.board.name, taken.endpoints.reality, image.path.name, image.sha256, image.own,
            clock_hz or taken.board.clock_hz or None, place=taken.which,
            command=list(taken.endable.shown) if taken.endable is not None else [],
        )  # fmt: skip
        self.power = DutPower(taken, self._before_power_off, self._power_is_back, self.raised)

    @property
    def reality(self) -> str:
        """How it exists: `hardware`, `renode`, `qemu` or `virtual`; of a command, the word in rig.toml."""
        return self.record.reality

    @property
    def endpoints(self) -> Endpoints:
        """Addresses of its probe, port and meter, and what else rig.toml says of it."""
        return self._taken.endpoints

    @property
    @remembered
    def clock(self) -> int:
        """Clock of the core in Hz: declared by the catalogue, by rig.toml, or by the test.

        A firmware that sets another clock needs `dut.clock = 168_000_000` before it is used; the record has that.

        Raises RigError if a board is a command, and nobody has declared its clock; or if it is set to no clock.
        """
        if self.record.clock_hz is None:
            raise RigError(
                f"nothing says which clock {self.board.name} has: add `clock_hz` to its table in rig.toml, or set "
                "dut.clock in the test."
            )
        return self.record.clock_hz

    @clock.setter
    @remembered
    def clock(self, hz: int) -> None:
        if isinstance(hz, bool) or not isinstance(hz, int) or hz < 1:
            raise RigError(f"dut.clock = {shown(hz)}: give the clock of the core in Hz, such as 168_000_000.")
        self.record.clock_hz = hz

    @property
    @remembered
    def symbols(self) -> Mapping[str, int]:
        """Address of every symbol by name, without the Thumb bit. Raises RigError if the image has no symbol table."""
        return self.image.symbols

    @remembered
    def cases(self, name: str, timeout: float | None = TIMEOUT_S) -> CaseReport:
        """Read the report of a test framework, and fail if a case did or the report is not whole (`read_cases`).

        Args:
            name: `unity`, `googletest` or `ctest`.
            timeout: for the whole report, in seconds; None waits for ever.
        """
        return read_cases(self.serial, self.record, name, timeout)

    def release(self) -> None:
        """Close port and probe until they are needed again, so that another program may use them.

        The board keeps running.
        """
        self._agent, self._route = None, None
        self._close_probe()
        self._release_port()

    def _before_power_off(self) -> None:
        self._look_before("dut.power.cycle()")
        self.release()

    def _power_is_back(self) -> None:
        if self._serial is not None:
            self._serial.replace_port(open_serial(self._port_path(), self._baud, self._taken.lost_s))
            self._port_released = False
        self._painted = self.unclaimed_ram.filled = False  # RAM has other content now
        self.judges_exit = self._saw_fault = False
        self.record.power_cycles += 1
        self._begin_run()

    def end(self, too_late: Callable[[], RigError]) -> None:
        """End the use of the device: whoever uses it from now on, such as a thread, gets this error."""
        self._note_own_resets()
        self._too_late = too_late
        if self._serial is not None:
            self._serial.end(too_late)

    def close(self) -> None:
        """Close port and probe; the board keeps running."""
        self.release()
        if self._serial is not None:
            self._serial.close()


@contextlib.contextmanager
def opened(
    rig: Rig, board: Board | str, image: Image | Path | str | None, log_folder: Path, baud: int | None = None,
    clock_hz: int | None = None, tell: Tell = lambda sentence: None, other_than: Collection[str] = (),
    semihosting: bool = False, serial_log: bool = True, inject: tuple[str, ...] = (),
) -> Iterator[Dut]:  # fmt: skip
    """Reserve a board for a `with` block and give it as a device under test. Nothing is flashed before `flash`.

    Args:
        rig: boards and stand-ins of the session.
        board: catalogue entry, or its name.
        image: its firmware: any ELF file for this board; None for the prebuilt one.
        log_folder: for `serial.log` and `bench.log`; it is made if needed.
        baud: rate of the serial port; default: `baud` in rig.toml, else that of the catalogue.
        clock_hz: of the core, if the firmware sets another than that of the catalogue.
        tell: called with sentences for the operator.
        other_than: ids in rig.toml of boards of this kind that the caller has already.
        semihosting: the firmware may ask this computer for files, output and an end (docs/how-to/side-by-side.md).
        serial_log: whether all traffic on the serial port is written to `serial.log`.
        inject: faults of the virtual board, which is then used (`hil bench-server --help` lists them).

    Raises:
        RigError: the image is not for the board, or semihosting is asked for of a board that is not on QEMU, and has no
            probe.
        Blocked: the board is not to be had.
    """
    entry = rig.bench.board_of(board) if isinstance(board, str) else board
    named = rig.bench.find(entry.name)
    if not isinstance(image, Image):
        elf = Path(image) if image is not None else None
        image = program_for(named, elf) if named is not None and named.run is not None else firmware_of(entry.name, elf)
    log_folder.mkdir(parents=True, exist_ok=True)
    bench_log = log_folder / BENCH_LOG
    with rig.take(entry, image, bench_log, inject, other_than, semihosting) as taken:
        table = taken.named or named
        rate = baud or (table.baud if table is not None else None)
        dut = Dut(taken, image, log_folder, rate, clock_hz, tell, serial_log)
        dut.record.bench_log = bench_log if taken.stand_in is not None or taken.endable is not None else None
        if taken.endable is not None and taken.endable.caveat is not None:
            dut.record.warn(taken.endable.caveat)
        with contextlib.closing(dut):
            yield dut
