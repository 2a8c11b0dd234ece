"""The device under test: a board made live, with any firmware. Every part is opened when it is first needed."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hil.boards import Board
from hil.dut.as_command import BENCH_LOG
from hil.dut.case_reports.report import CaseReport
from hil.dut.cases import TIMEOUT_S, read_cases
from hil.dut.dut_serial import DutSerial
from hil.dut.energy import INTERVAL_S, WINDOW_S, Energy, window
from hil.dut.inspection import Inspection
from hil.dut.power import DutPower
from hil.dut.record import DutRecord
from hil.dut.stack_area import paint_of
from hil.dut.with_port import WithPort
from hil.errors import Blocked, RigError, shown
from hil.images import Image, firmware_of, program_of
from hil.link.received_words import words
from hil.link.session import Session, fresh_nonce
from hil.rig import Rig, Taken, program_for
from hil.standins import confined
from hil.standins.semihosted_qemu import UNCONFINED
from hil.targets.boot_loader import Tell
from hil.targets.by_command import ByCommand, reset_by_command
from hil.targets.core_probe import CoreProbe
from hil.targets.flash_route import Flashing, probe_of, route_of, verified_by
from hil.targets.gdb_probe import GdbProbe
from hil.targets.probe import Probe
from hil.targets.serial_port import close_and_discard, emptied, open_serial, path_of
from hil.targets.target import flash_cycles_of

FLASH_LOG = "flash.log"
UNVERIFIED = "nothing has verified that {} is on the board."


class _Alive(Protocol):
    def __call__(self, within_s: float = 0.0) -> None: ...


@dataclass(frozen=True)
class _Machine:
    """The machine of a GDB stub (`hil.targets.gdb_probe.Machine`), which may also end by itself."""

    taken: Taken
    alive: _Alive

    def reset(self, while_stopped: Callable[[], None]) -> bool:
        return self.taken.reset(while_stopped)

    def lost_s(self) -> float:
        return self.taken.lost_s()


class Dut(Inspection, WithPort):
    """A device under test (docs/dut.md); `opened` makes one.

    Args:
        taken: the reserved board.
        image: its firmware.
        folder: for the log of the serial port.
        baud: rate of the serial port.
        clock_hz: of the core, if the firmware sets another than that of the catalogue.
        tell: called with sentences for the operator, such as which button to press.

    Attributes:
        image: the firmware.
        record: what happened so far.
        power: `power.cycle()` switches the board's power off and on.
    """

    def __init__(
        self, taken: Taken, image: Image, folder: Path, baud: int | None = None, clock_hz: int | None = None,
        tell: Tell = lambda sentence: None,
    ) -> None:  # fmt: skip
        self._taken, self.image, self._folder, self._tell = taken, image, folder, tell
        self._baud = baud or taken.board.baud
        self._probe: CoreProbe | None = None
        self._serial: DutSerial | None = None
        self._agent: Session | None = None
        self._windows = 0
        self.record = DutRecord(
            taken.board.name, taken.endpoints.reality, image.path.name, image.sha256, image.own,
            clock_hz or taken.board.clock_hz or None, place=taken.which,
            command=list(taken.command.shown) if taken.command is not None else [],
        )  # fmt: skip
        self.power = DutPower(taken, self._close_all, self._power_is_back)

    @property
    def reality(self) -> str:
        """How it exists: `hardware`, `renode`, `qemu` or `virtual`; of a command, the word in rig.toml."""
        return self._taken.endpoints.reality

    @property
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
    def clock(self, hz: int) -> None:
        if isinstance(hz, bool) or not isinstance(hz, int) or hz < 1:
            raise RigError(f"dut.clock = {shown(hz)}: give the clock of the core in Hz, such as 168_000_000.")
        self.record.clock_hz = hz

    @property
    def symbols(self) -> Mapping[str, int]:
        """Address of every symbol by name, without the Thumb bit. Raises RigError if the image has no symbol table."""
        return self.image.symbols

    # Flash and reset.

    def flash(self, elf: Path | str | None = None, always: bool = False) -> bool:
        """Program an image, unless the flash holds it already, and start it; return whether it was programmed.

        Args:
            elf: path of the image; None for that with which the device was opened.
            always: program even if the flash holds it.

        Raises:
            RigError: the file is not for this board.
            Blocked: the flash route failed, it is another chip, or the serial port did not come back.
        """
        image = self.image
        if elf is not None:
            command = bool(self.record.command)
            image = program_of(Path(elf), self.board) if command else firmware_of(self.board.name, Path(elf))
        ends = self._taken.endpoints
        self._close_probe()
        process, log = self._taken.probe_process, self._folder / FLASH_LOG
        route = route_of(Flashing(self.board, ends, lambda: self.serial.pyserial, process, self._tell, log))
        resets = route.name in ("pyocd", "kernel") or (isinstance(route, ByCommand) and self._can_reset)
        keep = isinstance(route, ByCommand) and not resets
        if keep and self._serial is not None:
            self._serial.reset_input_buffer()  # not after it: the command starts the program, which prints at once
        if route.name == "kernel" and image.sha256 != self.image.sha256:
            raise RigError(
                f"{self.reality} loads an image when it starts, and has {self.image.path.name}: open the device with "
                f"{image.path.name}."
            )
        programmed = route.program(image, always)
        self._started_at = time.monotonic()
        probe = probe_of(route)
        self._probe = self._noted_probe(probe) if probe is not None else None
        self.image = image
        self.record.image, self.record.image_sha256, self.record.own = image.path.name, image.sha256, image.own
        self.record.flash = "loaded" if route.name == "kernel" else "programmed" if programmed else "held"
        self.record.flash_cycles = flash_cycles_of(ends, programmed)
        verified = self.record.verified = verified_by(route)
        if verified == "none":
            self.record.warn(UNVERIFIED.format(image.path.name))
        if self._serial is not None:
            port = self._serial.pyserial
            now = emptied(port, ends, keep=keep and verified != "agent")
            if now is not port:
                self._serial.replace_port(now)
            elif not keep:
                self._serial.reset_input_buffer()
        if resets:
            self.reset()
        return programmed

    @property
    def _can_reset(self) -> bool:
        ends = self._taken.endpoints
        return ends.probe is not None or (ends.commands is not None and ends.commands.reset is not None)

    def reset(self) -> None:
        """Reset the board and let its program begin; what came on the serial port before is discarded.

        The command `reset` of rig.toml does it, else the probe. Through a probe the stack is painted before, if the
        image says where it is (`stack_peak`). A board that is a command is started again.

        Raises Blocked if nothing can reset it, or the probe or the command failed.
        """
        self._agent = None
        ends, self._started_at = self._taken.endpoints, -math.inf
        if ends.commands is not None and ends.commands.reset is not None:
            self._close_probe()  # the command may need it
            self._painted = False
            self._discard()
            reset_by_command(ends, self._folder / FLASH_LOG)
        elif self._has_probe and self._taken.command is None:
            probe = self._the_probe()
            probe.halt()
            self._discard()
            self._taken.forget_chip_faults()
            self._painted = probe.start(paint_of(self.image, self.board))
        else:
            self._close_probe()
            self._painted = False
            if not self._taken.reset(self._discard):
                raise Blocked(
                    "reset",
                    f"nothing can reset {self.board.name} here: name its probe in rig.toml, or a command "
                    "(reset = [...]), or use dut.power.cycle().",
                )
        self._started_at = time.monotonic()
        self.judges_exit = False
        self.record.resets += 1

    def cases(self, name: str, timeout: float | None = TIMEOUT_S) -> CaseReport:
        """Read the report of a test framework, and fail if a case did or the report is not whole (`read_cases`).

        Args:
            name: `unity`, `googletest` or `ctest`.
            timeout: for the whole report, in seconds; None waits for ever.
        """
        return read_cases(self.serial, self.record, name, timeout)

    @property
    def agent(self) -> Session:
        """A greeted session with the agent in the firmware, on the same port; a new one after each reset.

        Raises:
            RigError: the agent is not in this firmware.
            Blocked: it does not answer.
        """
        if self._agent is None:
            if self.image.table and not self.image.has_agent:
                raise RigError(
                    f"{self.image.path.name} has no agent in it: add it with `hil agent --copy` "
                    "(docs/how-to/agent-library.md), or speak its own protocol through dut.serial."
                )
            session = Session(self.serial.logged_port, fresh_nonce(), self._taken.alive, lost_s=self._taken.lost_s)
            session.hello()
            self._agent = session
        return self._agent

    @contextlib.contextmanager
    def energy(
        self, steps: int = 1, window_s: float = WINDOW_S, interval_s: float = INTERVAL_S,
        idle_s: float | None = None, range_a: float | None = None,
    ) -> Iterator[Energy]:  # fmt: skip
        """Measure the energy of what the device does in a `with` block; the figures are there after it.

        The firmware raises the board's marker pin while it works, and sleeps before and after. The probe is detached
        meanwhile. A meter without a marker input finds the work by the begin and end of the block, and by its power.

        Args:
            steps: how many steps the work has.
            window_s: expected time of the work.
            interval_s: between readings; the meter uses the nearest that it has.
            idle_s: sleep before and after the work; default: 0.2, or 40 readings if longer.
            range_a: largest current; default: the meter's largest range.

        Raises:
            Blocked: there is no meter, it failed, or it has not seen the work.
        """
        self._windows += 1
        if self._probe is not None:
            self._probe.detach()
        try:
            folder = self._folder / f"energy-{self._windows}"
            with window(self.board, self._taken.endpoints, folder, steps, window_s, interval_s, idle_s, range_a) as one:
                yield one
        finally:
            if self._probe is not None:
                self._probe.attach()
        for flag in one.figures["flags"]:
            self.record.warn(str(flag))

    # Opening and closing.

    @property
    def _has_probe(self) -> bool:
        ends = self._taken.endpoints
        return ends.probe is not None or ends.gdb is not None

    def _the_probe(self) -> CoreProbe:
        if self._probe is None:
            ends = self._taken.endpoints
            if ends.probe is not None:
                process = self._taken.probe_process
                opened = Probe(self.board, ends.probe, ends.pack, process, ends.process, running=True)
                self._probe = self._noted_probe(opened)
            elif ends.gdb is not None:
                machine = _Machine(self._taken, self._alive)
                self._probe = self._noted_probe(GdbProbe(self.board, ends.gdb, self.reality, machine))
            else:
                what, use = self.reality, "use a board with a virtual board (`hil boards`)"
                if self._taken.command is not None:
                    what, use = "a command", "write it into a file in dut.folder"
                cure = "name it in rig.toml (`hil devices` lists the probes)" if self.reality == "hardware" else (
                    f"{what} has none: print what you need and read it with dut.serial, or {use}"
                )  # fmt: skip
                raise Blocked("probe", f"{self.board.name} has no debug probe here: {cure}.")
        return self._probe

    def _noted_probe(self, probe: CoreProbe) -> CoreProbe:
        self.record.probe = probe.unique_id
        return probe

    def _look(self, quiet: bool) -> str | None:
        """Return what is known of a device that did not print what it must; of one that prints, only a fault."""
        chip = self._taken.chip_fault(self.image)
        if chip is not None or not self._has_probe:
            return self._noted(chip)
        try:
            halted = self._probe is not None and self._probe.is_halted()
            found = None if halted else self._core.hang() if quiet else self._core.fault()
        except Blocked:  # the probe can say nothing
            return None
        if halted:
            raise RigError("the core is halted by the probe, and prints nothing: call dut.resume() before.")
        return self._noted(found)

    def _last_words(self) -> str:
        with contextlib.suppress(RigError):  # the port may be gone
            last = self._serial.arrived() if self._serial is not None else b""
            return f"its last words are {words(last)}" if last else ""
        return ""

    def _close_probe(self) -> None:
        probe, self._probe = self._probe, None
        if probe is not None:
            probe.close()

    def _close_all(self) -> None:
        self._agent = None
        self._close_probe()
        if self._serial is not None:
            close_and_discard(self._serial.pyserial)

    def _power_is_back(self) -> None:
        if self._serial is not None:
            self._serial.replace_port(open_serial(path_of(self._taken.endpoints), self._baud))
        self._painted = False  # RAM has other content now
        self.record.power_cycles += 1

    def close(self) -> None:
        """Close port and probe; the board keeps running."""
        self._close_all()
        if self._serial is not None:
            self._serial.close()


@contextlib.contextmanager
def opened(
    rig: Rig, board: Board | str, image: Image | Path | str | None, log_folder: Path, baud: int | None = None,
    clock_hz: int | None = None, tell: Tell = lambda sentence: None, other_than: Collection[str] = (),
    semihosting: bool = False,
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
        semihosting: the firmware may ask this computer for files, output and an end (docs/how-to/semihosting.md).

    Raises:
        RigError: the image is not for the board, or semihosting is asked for of a board that is not on QEMU.
        Blocked: the board is not to be had.
    """
    entry = rig.bench.board_of(board) if isinstance(board, str) else board
    named = rig.bench.find(entry.name)
    if not isinstance(image, Image):
        elf = Path(image) if image is not None else None
        image = program_for(named, elf) if named is not None and named.run is not None else firmware_of(entry.name, elf)
    log_folder.mkdir(parents=True, exist_ok=True)
    bench_log = log_folder / BENCH_LOG
    with rig.take(
        entry, image, bench_log, dut_folder=log_folder, other_than=other_than, semihosting=semihosting
    ) as taken:
        table = taken.named or named
        rate = baud or (table.baud if table is not None else None)
        dut = Dut(taken, image, log_folder, rate, clock_hz, tell)
        dut.record.bench_log = bench_log if taken.stand_in is not None else None
        if semihosting and not confined.version():
            dut.record.warn(UNCONFINED)
        with contextlib.closing(dut):
            yield dut
