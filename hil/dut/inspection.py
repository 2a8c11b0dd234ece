"""The probe of a device under test, and what it shows of memory and core."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy.typing as npt

from hil.boards import Board
from hil.dut.as_command import AsCommand
from hil.dut.caught import Remembered, remembered
from hil.dut.core import CoreView, Frame
from hil.dut.expectations import CommandEnded
from hil.dut.memory import Memory, Shape, Where
from hil.dut.requests import check_timeout, check_times
from hil.dut.returned import Returned
from hil.errors import Blocked, DeviceFault, RigError
from hil.rig import Taken
from hil.targets.core_probe import CoreProbe
from hil.targets.gdb_probe import GdbProbe
from hil.targets.probe import Probe, about_probe
from hil.targets.probe_about import ProbeAbout

RETURN_S = 10.0


class ProbeAway(RigError):
    """The debug probe is detached while the energy of the device is measured."""


class _Alive(Protocol):
    def __call__(self, within_s: float = 0.0) -> None: ...


@dataclass(frozen=True)
class _Machine:
    """The machine of a GDB stub (`hil.targets.gdb_probe.GdbMachine`), which may also end by itself."""

    taken: Taken
    alive: _Alive

    def reset(self, while_stopped: Callable[[], None]) -> bool:
        return self.taken.reset(while_stopped)

    def lost_s(self) -> float:
        return self.taken.lost_s()


class Inspection(AsCommand):
    """What a probe shows of a device. Each member raises Blocked if there is no probe, or it failed."""

    _probe: CoreProbe | None = None
    _probe_is_away = False  # while the energy of the device is measured
    _painted = False  # whether the stack was, at the last reset
    _read_places: tuple[object, dict[str, int]] = (None, {})  # where expressions were read, and since which start

    @property
    def board(self) -> Board:
        """Catalogue entry of the board."""
        return self._taken.board

    @property
    @remembered
    def probe(self) -> CoreProbe:
        """The debug probe itself, opened when it is first needed; on QEMU its GDB stub. It is closed with the device.

        Raises Blocked if there is none, or it cannot be opened.
        """
        return self._probe_now()

    def _probe_now(self) -> CoreProbe:
        self._check_in_time()
        if self._probe_is_away:
            raise ProbeAway(
                f"the debug probe of {self.board.name} is detached while dut.energy measures, so that its current does "
                "not count: read and reset before or after the block."
            )
        if self._probe is None:
            ends = self._taken.endpoints
            if ends.probe is not None:
                process = self._taken.probe_process
                self._note_probe(Probe(self.board, ends.probe, ends.pack, process, ends.process, running=True))
            elif ends.gdb is not None:
                self._note_probe(GdbProbe(self.board, ends.gdb, ends.reality, _Machine(self._taken, self.alive)))
            else:
                raise self._no_probe()
        assert self._probe is not None
        return self._probe

    @remembered
    def about_probe(self) -> ProbeAbout:
        """Return what the probe says of itself, without a look at the chip; an open connection to it is closed.

        Raises Blocked if there is none, or it is not attached.
        """
        ends = self._taken.endpoints
        if ends.gdb is not None and ends.probe is None:
            return ProbeAbout(ends.reality, "GDB stub")
        if ends.probe is None:
            raise self._no_probe()
        self._close_probe()
        return about_probe(self._taken.probe_process, ends.probe, ends.process)

    @property
    def has_probe(self) -> bool:
        """Whether there is a debug probe, or QEMU's GDB stub in its place."""
        ends = self._taken.endpoints
        return ends.probe is not None or ends.gdb is not None

    def _no_probe(self) -> Blocked:
        what, use = self._taken.endpoints.reality, "use a board with a virtual board (`hil boards`)"
        if self._taken.is_command:
            what, use = "a command", "write it into a file in dut.folder"
        cure = "name it in rig.toml (`hil devices` lists the probes)" if what == "hardware" else (
            f"{what} has none: print what you need and read it with dut.serial, or {use}"
        )  # fmt: skip
        return Blocked("probe", f"{self.board.name} has no debug probe here: {cure}.")

    def _note_probe(self, probe: CoreProbe) -> None:
        self._probe, self.record.probe = probe, probe.unique_id
        if isinstance(probe, Probe) and probe.virtual:
            self.record.reality = "virtual"  # even if rig.toml lists it as hardware: its figures are not measured

    def _close_probe(self) -> None:
        probe, self._probe = self._probe, None
        if probe is not None:
            probe.close()

    def _look(self, quiet: bool) -> str | None:
        """Return what is known of a device that did not print what it must; of one that prints, only a fault.

        A test that catches the error, maybe as a mere time-out, has not asked for the fault.
        """
        chip = self._taken.chip_fault(self.image)
        if chip is not None or not self.has_probe:
            return self._noted(chip)
        try:
            halted = self._probe is not None and self._probe.is_halted()
            found = None if halted else self._core.hang() if quiet else self._core.fault()
        except (Blocked, ProbeAway):  # the probe can say nothing
            return None
        except DeviceFault as fault:  # meanwhile the core has locked up, which ends an emulator
            return self._noted(str(fault))
        if halted:
            raise RigError("the core is halted by the probe, and prints nothing: call dut.resume() before.")
        return self._noted(found)

    def _waits(self) -> str | None:
        """Return where the core waits for input, as part of a sentence; None if it does not, or nobody can look."""
        with contextlib.suppress(Blocked, ProbeAway):
            return self._core.waits() if self.has_probe else None
        return None

    @remembered
    def read(self, where: Where, dtype: npt.DTypeLike | None = None, shape: Shape | None = None) -> Any:
        """Return what is in memory, as an array or a number of NumPy, while the program runs.

        Args:
            where: a symbol, an expression of C (`linear->weights->data[3]`), or an address. A constant, or an address
                that is taken with `&`, reads nothing, and does not count as a read.
            dtype, shape: default: those of the debug information. An address needs a dtype.

        Raises:
            RigError: it is not there, or is something else; or a pointer on the way points nowhere.
            Blocked: there is no probe, or it failed.
            DeviceFault: the chip does not answer where it has memory; or a pointer on the way points nowhere, and the
                same expression was read before, since the last reset.
        """
        memory = self._memory
        try:
            return memory.read(where, dtype, shape)
        finally:
            self.record.reads += memory.looked

    @remembered
    def write(self, where: Where, value: Any) -> None:
        """Write memory while the program runs: a number, an array or a list, of the type of the debug information.

        An address, or a symbol without debug information, needs a value of NumPy (`np.uint32(1)`).

        Raises as `read`.
        """
        self._memory.write(where, value)

    @property
    def _memory(self) -> Memory:
        start = (self.image.sha256, self.record.resets, self.record.power_cycles)
        if self._read_places[0] != start:  # a program that begins anew sets its pointers anew
            self._read_places = (start, {})
        return Memory(self.image, self.board, self._probe_of(), self._read_places[1])

    @property
    def _core(self) -> CoreView:
        return CoreView(self.image, self.board, self._probe_of())

    def _probe_of(self) -> Callable[[], CoreProbe]:
        """Return what opens the probe. Raises Blocked of a command, before anybody asks what is where in its memory."""
        if self._taken.is_command and not self.has_probe:
            raise self._no_probe()
        return self._probe_now

    @remembered
    def halt(self) -> None:
        """Halt the core."""
        self.probe.halt()

    @remembered
    def resume(self) -> None:
        """Let the halted core run."""
        self.probe.resume()

    @remembered
    def registers(self) -> Mapping[str, int]:
        """Return r0 to r12, sp, lr, pc and xpsr; a running core is halted for a moment."""
        self.record.reads += 1
        return self._core.registers()

    @remembered
    def backtrace(self) -> Sequence[Frame]:
        """Return where the core is and what called it, innermost first; a running core is halted for a moment."""
        self.record.reads += 1
        return self._core.backtrace()

    @remembered
    def fault(self) -> str | None:
        """Return the fault that the core is in, with causes and place, as one sentence; None if it is in none."""
        self.record.reads += 1
        return self._told(self._taken.chip_fault(self.image) or self._core.fault())

    def fault_at_end(self, end: str = "the test ended") -> DeviceFault | None:
        """Return the fault that the core is in when its run ends, if the test has not asked for one in it; else None.

        It costs a register, of a probe that is open or of QEMU's GDB stub. A core without a fault is not halted.
        """
        if self._saw_fault:
            return None
        found = self._taken.chip_fault(self.image)
        if found is None and (self._probe is not None or self._taken.endpoints.gdb is not None):
            try:
                found = self._core.fault_at_end()
            except (Blocked, CommandEnded):  # nobody can look; its exit code is judged elsewhere
                return None
            except DeviceFault as fault:  # meanwhile the core has locked up, which ends an emulator
                found = str(fault)
        if self._told(found) is None:
            return None
        return DeviceFault(
            f"{str(found).rstrip('.')}; {end} without a look at it, call dut.fault() before that in a test that "
            "expects it."
        )

    @remembered
    def hang(self) -> str | None:
        """Return where the core hangs, or its fault, as one sentence; None if it waits for an interrupt or input."""
        self.record.reads += 1
        return self._told(self._taken.chip_fault(self.image) or self._core.hang())

    def at_return(self, function: str, times: int | None = None, timeout: float = RETURN_S) -> Iterator[Returned]:
        """Iterate over the returns of a function: at each the core is halted, and goes on with the next one.

        Args:
            function: its name.
            times: how many returns; None: until the loop is left.
            timeout: seconds to wait for each call, and for its return.

        Raises:
            RigError: there is no such function, or two; or the time-out or the number is none.
            DeviceFault: it is not called, or does not return; the sentence says where the core is.
            Blocked: there is no probe.
        """
        check_timeout(timeout)
        check_times(times)
        self.record.reads += 1
        taken, returns = 0, self._core.at_return(function, times, timeout, self._last_words, self._end)
        try:
            with Remembered(self), contextlib.closing(returns):  # which lets the core run
                for returned in returns:
                    taken += 1
                    yield returned
        except GeneratorExit:
            if times is not None and taken < times:
                self.record.warn(
                    f"the test has taken {taken} of {times} returns of {function} and left its loop over "
                    "dut.at_return: nobody looked for the others; let the loop end by itself, or give `times` what the "
                    "test takes."
                )
            raise
        except DeviceFault:  # it says where the core is
            self._saw_fault = True
            raise

    @property
    @remembered
    def cycles(self) -> int:
        """The cycle counter of the core, 32 bits (counted). Raises RigError if the core has none."""
        self.record.reads += 1
        return self._core.cycles()

    @property
    @remembered
    def stack_peak(self) -> int:
        """Most bytes of the stack in use since the last `reset` or `flash` (counted).

        A byte at the very edge that equals the paint is missed.

        Raises RigError if the image does not say where its stack is, or it was not painted.
        """
        self.record.reads += 1
        peak = self._core.stack_peak()
        if not self._painted or self.probe.has_lost_power():
            raise RigError(
                "the stack was not painted since the board was switched on: call dut.reset() or dut.flash() before, "
                "through a probe."
            )
        return peak

    def _last_words(self) -> str:
        """Return what the device printed last, as part of a sentence; empty without a port."""
        return ""

    def _noted(self, sentence: str | None) -> str | None:
        if sentence is not None:
            self.record.fault(sentence)
        return sentence

    def _told(self, sentence: str | None) -> str | None:
        """Note a fault that the test has asked for."""
        self._saw_fault |= sentence is not None
        return self._noted(sentence)
