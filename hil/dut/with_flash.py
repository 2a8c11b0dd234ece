"""Flash and reset of a device under test, what is in its RAM before the program begins, and which code has run."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path

from hil.dut.cases import judge_later
from hil.dut.caught import remembered
from hil.dut.stack_paint import PAINT, paint_of
from hil.dut.unclaimed_ram import UnclaimedRam
from hil.dut.with_port import WithPort
from hil.errors import Blocked, DeviceFault, RigError
from hil.images import firmware_of, program_of
from hil.images.executed import Executed
from hil.standins import STAND_INS, StandIn
from hil.steady_clock import steady_s
from hil.targets.boot_loader import Tell
from hil.targets.by_command import ByCommand, reset_by_command
from hil.targets.coverage import CoverageReader
from hil.targets.flash_cycles import after_flashing
from hil.targets.flash_route import Flashing, FlashRoute, passed_over, probe_of, route_of, verified_by
from hil.targets.probe import RamFill
from hil.targets.serial_port import emptied

FLASH_LOG = "flash.log"
UNVERIFIED = "nothing has verified that {} is on the board."
NOT_FLASHED = (
    "the flash route {} gave nothing for the stand-in {}, so nothing was flashed: that it runs {} is known from the "
    "plugin alone; let the route program it, or name the route `kernel` after it if the stand-in loads the image."
)


class WithFlash(WithPort):
    """What brings a program onto a device, and starts it.

    Attributes:
        stack_fill: the word that a probe fills the stack with before the program begins.
        erased: sentences about what was wrong with the device before a reset, flashing or a power cycle.
    """

    erased: list[str]

    stack_fill = PAINT
    _tell: Tell
    _route: FlashRoute | None = None  # that of `connect`, until `flash`
    _coverage: CoverageReader | None = None
    _unclaimed: UnclaimedRam | None = None
    _reads_before = 0  # of `record.reads`, when the program was started

    @remembered
    def connect(self) -> None:
        """Open port and flash route now, and not when they are first needed: what is missing is said here.

        Through a probe the chip is identified, and its core stands still until `flash` or `reset`. The port may be one
        that firmware makes on the chip's own USB, and be absent until it is flashed.

        Raises Blocked if one is missing or cannot be opened, or it is another chip.
        """
        away = (Blocked,) if self._is_attached and self.board.usb_port is not None else ()
        with contextlib.suppress(*away):  # where it is needed, it is opened again
            self._serial_now()
        self._route = self._open_route()

    def _open_route(self) -> FlashRoute:
        self._check_in_time()
        ends = self._taken.endpoints
        self._close_probe()
        process, log = self._taken.probe_process, self._folder / FLASH_LOG
        route = route_of(Flashing(self.board, ends, lambda: self._serial_now().pyserial, process, self._tell, log))
        probe = probe_of(route)
        if probe is not None:
            self._note_probe(probe)
        return route

    @remembered
    def flash(self, elf: Path | str | None = None, always: bool = False) -> bool:
        """Program an image, unless the flash holds it already, and start it; return whether it was programmed.

        Args:
            elf: path of the image; None for that with which the device was opened.
            always: program even if the flash holds it.

        Raises:
            RigError: the file is not for this board.
            Blocked: the flash route failed, it is another chip, or the serial port did not come back.
        """
        self._look_before("dut.flash()")
        image = self.image
        if elf is not None:
            command = bool(self.record.command)
            image = program_of(Path(elf), self.board) if command else firmware_of(self.board.name, Path(elf))
        ends = self._taken.endpoints
        route, self._route = self._route or self._open_route(), None
        resets = route.name == "pyocd" or (isinstance(route, ByCommand) and self.can_reset)
        keep = not resets and self._keep_output(route)
        if route.name == "kernel" and image.sha256 != self.image.sha256:
            raise RigError(
                f"{ends.reality} loads an image when it starts, and has {self.image.path.name}: open the device with "
                f"{image.path.name}."
            )
        programmed = route.program(image, always)
        self._started_at = steady_s()
        probe = probe_of(route)
        if probe is not None:
            self._note_probe(probe)
        self.image = image
        self.record.image, self.record.image_sha256, self.record.own = image.path.name, image.sha256, image.own
        self.record.route = route.name
        self.record.flash = "loaded" if route.name == "kernel" else "programmed" if programmed else "held"
        self.record.flash_cycles = after_flashing(ends, programmed)
        verified = self.record.verified = verified_by(route)
        if verified == "none":
            self.record.warn(UNVERIFIED.format(image.path.name))
        of_plugin = ends.reality not in STAND_INS.house_names() and not self.record.command
        without = passed_over(route, self.board) if of_plugin else []
        if without:
            self.record.warn(NOT_FLASHED.format(" and ".join(without), ends.reality, image.path.name))
        serial = self._open_serial
        if serial is not None:
            port = serial.pyserial
            now = emptied(port, ends, keep=keep and verified != "agent")
            if now is not port:
                serial.replace_port(now)
            elif not keep:
                serial.discard_run()
        if ends.coverage is not None:
            self._coverage = CoverageReader(ends.coverage)
            self._coverage.begin()  # without what programmed the flash, and what ran before
        if resets:
            self._reset()
        elif route.name == "kernel":
            self._restart()  # of a stand-in that cannot, the program runs already
        self._begin_run()
        return programmed

    def _keep_output(self, route: FlashRoute) -> bool:
        """Return whether flashing by a route discards nothing: the route starts the program, which prints at once.

        What was printed before it is discarded now, except by a stand-in that was started with this program.
        """
        if self._is_attached and not isinstance(route, ByCommand):
            return False
        first = self._taken.is_new and self.record.flash == "none"
        if route.name != "kernel" and not first and self._open_serial is not None:
            self._open_serial.discard_run()
        return True

    @property
    def can_reset(self) -> bool:
        """Whether a probe or a command of rig.toml can reset the board."""
        ends = self._taken.endpoints
        return ends.probe is not None or (ends.commands is not None and ends.commands.reset is not None)

    @remembered
    def reset(self) -> None:
        """Reset the board and let its program begin; what came on the serial port before is discarded.

        The command `reset` of rig.toml does it, else the probe. Through a probe the stack is painted before, if the
        image says where it is (`stack_peak`), and `unclaimed_ram` is filled, if that was asked for. A board that is a
        command is started again.

        Raises Blocked if nothing can reset it, or the probe or the command failed.
        """
        self._look_before("dut.reset()")
        self._reset()

    def _reset(self) -> None:
        if not self._restart():
            self._taken.alive()  # a stand-in that has ended says why
            if self._taken.stand_in is not None:
                raise Blocked(
                    "reset",
                    f"the stand-in {self._taken.endpoints.reality} of {self.board.name} cannot be reset: let its class "
                    "have `reset`, or its endpoints a probe (docs/new-board.md), or use another test.",
                )
            raise Blocked(
                "reset",
                f"nothing can reset {self.board.name} here: name its probe in rig.toml, or a command "
                "(reset = [...]), or use dut.power.cycle().",
            )

    def _note_own_resets(self) -> None:
        """Warn of resets that the rig has not made: what the device printed is of more than one start then."""
        count = self._taken.own_resets()
        if count:
            times = "once" if count == 1 else f"{count} times"
            self.record.warn(
                f"the device has reset itself {times}, by its program or a watchdog ({self._taken.endpoints.reality} "
                "says so): its memory began anew, and what it printed is of more than one start."
            )

    def look_at_end(self, end: str) -> DeviceFault | None:
        """Return what is wrong with the device when its run ends, if the test has not asked for it.

        What else came of the reports that `cases` has read is judged, too. `end` says what ends the run.
        """
        self._note_own_resets()
        if self._open_serial is not None:
            judge_later(self._open_serial, self.record)
        return self._ended_badly() or self.fault_at_end(end)

    def stand_in_at_end(self) -> RigError | None:
        """Return the error of a stand-in that has ended badly; None of a device whose exit code is judged, or none."""
        stand_in = self._taken.stand_in
        if self._taken.endable is not None or not isinstance(stand_in, StandIn):
            return None
        try:
            return stand_in.bad_end()
        except RigError as error:  # of code of a plugin
            return error

    def _begin_run(self) -> None:
        self._reads_before = self.record.reads
        self._taken.own_resets()  # those before it are of another run
        if self._serial is not None:
            self._serial.begin_run()

    def _look_before(self, what: str) -> None:
        """Look at the device before something that erases what it did.

        A run that the test has not used is not judged: of a test before, or one that ended for want of a file.
        """
        self._check_in_time()
        used = self._serial is not None and self._serial.used
        if used and self._open_serial is not None:
            self._open_serial.keep_unseen()
        if used or self.record.reads > self._reads_before:
            wrong = self.look_at_end(f"{what} came")
            self.erased += [str(wrong)] if wrong is not None else []

    def _restart(self) -> bool:
        """Reset the board, as `reset`; return False if nothing can."""
        self._check_in_time()
        self._forget_session()
        ends, self._started_at = self._taken.endpoints, -math.inf
        if ends.commands is not None and ends.commands.reset is not None:
            self._close_probe()  # the command may need it
            self._painted = False
            self.unclaimed_ram.filled = False
            self._discard()
            reset_by_command(ends, self._folder / FLASH_LOG)
        elif self.has_probe and not self._taken.is_command:
            self.probe.halt()
            self._discard()
            self._taken.forget_chip_faults()
            self._start_with_fill()
        else:
            self._close_probe()
            self._painted = self.unclaimed_ram.filled = False
            if not self._taken.reset(self._discard):
                return False
        self._started_at = steady_s()
        self.judges_exit = self._saw_fault = False
        self.record.resets += 1
        self._begin_run()
        return True

    def _start_with_fill(self) -> None:
        paint, words = paint_of(self.image, self.board, self.stack_fill), self.unclaimed_ram.words()
        areas = {**({} if paint is None else dict(paint.areas)), **words}
        filled = self.probe.start(RamFill(self.image.entry, tuple(areas.items())) if areas else None)
        self._painted, self.unclaimed_ram.filled = filled and self.stack_fill == PAINT, filled and bool(words)

    def _forget_session(self) -> None:
        """Forget the session with the agent: the board is reset."""

    @property
    def unclaimed_ram(self) -> UnclaimedRam:
        """The RAM that nothing in the image claims, and whether the program writes it."""
        if self._unclaimed is None:
            self._unclaimed = UnclaimedRam(self.board, lambda: self.image, lambda: self.probe, self.raised)
        return self._unclaimed

    @remembered
    def executed(self) -> Executed | None:
        """Return which code has run since `flash`; None before it, or if the board cannot say it (`hil coverage`).

        Only the virtual board can. Raises Blocked if it does not answer.
        """
        return self._coverage.read() if self._coverage is not None else None
