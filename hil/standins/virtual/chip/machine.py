"""A Cortex-M machine: core, exceptions, sleep, time, and the peripherals that a chip attaches.

It is not thread-safe. `advance` runs a slice. Slices end at block boundaries, and interrupts are taken between slices.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from functools import partial
from typing import Protocol

import numpy as np

from hil.errors import RigError
from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip import debug, nvic
from hil.standins.virtual.chip.bus import Bus
from hil.standins.virtual.chip.clock import Clock
from hil.standins.virtual.chip.core import ArmCore
from hil.standins.virtual.chip.core_spec import CoreSpec, EventSource
from hil.standins.virtual.chip.count import HAS_FP, Slot
from hil.standins.virtual.chip.ended import RunEnd
from hil.standins.virtual.chip.exceptions import Exceptions
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.halting import HaltingDebug
from hil.standins.virtual.chip.hazards import Hazards
from hil.standins.virtual.chip.memories import PhysicalMemory
from hil.standins.virtual.chip.registers import Block
from hil.standins.virtual.chip.reset import ResetAndPower
from hil.standins.virtual.chip.synchronous import SynchronousFaults
from hil.standins.virtual.chip.systick import SysTick
from hil.standins.virtual.usb.wire import UsbFunction

SLICE_INSTRUCTIONS = 2_000_000  # some 10 ms of wall time


class Pace(enum.Enum):
    """What the caller of `advance` should do next."""

    AGAIN = enum.auto()
    WAIT = enum.auto()  # nothing happens until the host or the debugger acts


class Machine(ResetAndPower):
    """A core with its peripherals in virtual time.

    Args:
        spec: description of the core.
        memories, peripherals: see Core.
        log: receives one line for each event.

    Attributes:
        clock_debugger: what keeps the debug access port of a sleeping core clocked, for the log.
    """

    clock_debugger = ""

    def __init__(
        self, spec: CoreSpec, memories: tuple[PhysicalMemory, ...], peripherals: tuple[tuple[int, int], ...],
        log: Callable[[str], None],
    ) -> None:  # fmt: skip
        super().__init__()
        self.spec = spec
        self.log = log
        self.hazards = Hazards(self)
        self.bus = Bus()
        self.core = ArmCore(memories, peripherals, self.bus.read, self.bus.write, spec.cpu)
        count = partial(self.core.state.__getitem__, int(Slot.COUNT))
        self.clock = Clock(count, spec.reset_hz)
        self.nvic = nvic.Nvic(spec.interrupts, spec.priority_bits)
        self.exceptions = Exceptions(self.core, self.nvic)
        self.systick = SysTick(self.clock, self.nvic)
        self.halting = HaltingDebug(self)
        self.debug = debug.DebugControl(self.halting, self.bus)
        self.faults = SynchronousFaults(self)
        self.scb = spec.private(self)
        self.sources: list[EventSource] = [self.systick]
        self.blocks: list[Block] = [self.scb, self.systick]
        self.at_count: list[tuple[int, Callable[[], None]]] = []  # (instruction count, action), sorted
        self._waits_for_event = False
        self.bus.on_write(self.hazards.before_write, self._after_write)

    def add(self, block: Block, size: int) -> None:
        """Attach a peripheral; if it is a `Source`, it also acts in virtual time."""
        self.bus.attach(block, size)
        self.blocks.append(block)
        if isinstance(block, EventSource):
            self.sources.append(block)

    # running

    def advance(self, instructions: int = SLICE_INSTRUCTIONS) -> Pace:
        """Run at most `instructions`; a sleeping core first sleeps until the next event, and runs if that wakes it."""
        if self._brown_out is not None:
            rng, self._brown_out = self._brown_out, None
            self.switch(False, rng)
            self.switch(True, rng)
        if self._reset_wanted:
            self.reset()
        if self.stopped:
            return Pace.WAIT
        try:
            self._update()
            if self.dead:
                return Pace.WAIT
            if self.asleep and not self._wake() and not self._sleep():
                rests = self._next_event() is None and not self._reset_wanted
                return Pace.WAIT if rests else Pace.AGAIN
            _, masked = self._take_exception()
            self.scb.priority_changed()
            self._handle(self.core.run(self._limit(instructions), masked))
        except ModelFault as fault:
            self._stop(fault)
        return Pace.WAIT if self.stopped else Pace.AGAIN

    def step(self) -> None:
        """Take one exception if one is due, else execute one instruction."""
        if self.fault is not None or self.lockup:
            return
        try:
            self._update()
            if not self._take_exception()[0]:
                self.scb.priority_changed()
                self._handle(self.core.step())
        except ModelFault as fault:
            self._stop(fault)

    def _take_exception(self) -> tuple[bool, bool]:
        """Enter the exception that is due; return whether there was one, and whether only a mask blocks another."""
        number, masked = self.exceptions.next()
        if number is None or self.debug.value["DHCSR"] & debug.C_MASKINTS:
            return False, masked
        self.enter(number)
        return True, masked

    def wake(self) -> None:
        """End WFI, WFE and lockup, as a halt does (B1.5.19, C1.4)."""
        self.lockup = self.asleep = self._waits_for_event = False
        self.core.break_soon()

    @property
    def stopped(self) -> bool:
        """Whether the core executes nothing until an action from outside."""
        return self.halting.halted or self.lockup or self.reset_line or self.fault is not None or self.dead

    def _update(self) -> None:
        now = self.clock.now
        for source in self.sources:
            source.update(now)
        while self.at_count and self.core.count >= self.at_count[0][0]:
            self.at_count.pop(0)[1]()

    def _next_event(self) -> int | None:
        first = None
        for source in self.sources:
            event = source.next_event()
            if event is not None and (first is None or event < first):
                first = event
        return first

    def _limit(self, instructions: int) -> int:
        count = self.core.count
        limit = count + instructions
        event = self._next_event()
        if event is not None:
            limit = min(limit, self.clock.count_at(event))
        if self.at_count:
            limit = min(limit, self.at_count[0][0])
        return max(limit, count + 1)  # run at least one block, even if an event is already due

    def _sleep(self) -> bool:
        """Advance time to the next event; return whether it woke the core."""
        event = self._next_event()
        if event is None:
            return False
        self.clock.sleep_until(event)
        self._update()
        return self._wake()

    def _wake(self) -> bool:
        event = self._waits_for_event and self.core.state[Slot.EVENT]
        if event or self.exceptions.wakes():
            self.core.state[Slot.EVENT] = 0
            self.asleep = self._waits_for_event = False
        return not self.asleep

    def enter(self, number: int) -> None:
        """Go to the handler of an exception."""
        self.exceptions.enter(number, self.scb.value["VTOR"])
        self.core.state[Slot.EVENT] = 1

    def _handle(self, ended: RunEnd) -> None:
        if ended is RunEnd.LIMIT:
            return
        handlers: dict[RunEnd, Callable[[], None]] = {
            RunEnd.SLEEP: self._fall_asleep, RunEnd.EVENT_SLEEP: self._wait_for_event,
            RunEnd.SVC: lambda: self.faults.take(nvic.SVCALL), RunEnd.BKPT: self.faults.handle_bkpt,
            RunEnd.BREAKPOINT: self.faults.handle_bkpt, RunEnd.REFUSED: self._handle_refused,
            RunEnd.UNDEFINED: self._handle_undefined, RunEnd.UNALIGNED: lambda: self.faults.usage("UNALIGNED"),
            RunEnd.INVALID_STATE: lambda: self.faults.usage("INVSTATE"), RunEnd.EXCEPTION_RETURN: self._return,
            RunEnd.FAULT: self._take_core_fault, RunEnd.COPROCESSOR: self._handle_coprocessor,
            RunEnd.STACK_LIMIT: lambda: self.faults.usage("STKOF"),
        }  # fmt: skip
        handlers[ended]()

    def _fall_asleep(self) -> None:
        self.asleep = True

    def _wait_for_event(self) -> None:
        if self.core.state[Slot.EVENT]:
            self.core.state[Slot.EVENT] = 0
        else:
            self.asleep = self._waits_for_event = True

    def _return(self) -> None:
        self.hazards.before_return()
        self.exceptions.leave(self.core.get(c.PC))
        self.core.state[Slot.EVENT] = 1
        if self.scb.field("SCR", "SLEEPONEXIT") and not self.nvic.active:
            self.asleep = True

    def _handle_undefined(self) -> None:
        self.faults.usage("UNDEFINSTR")

    def _handle_refused(self) -> None:
        """Step to the refused instruction of the block, and fault there."""
        flag = self.faults.refusal()
        if flag is not None:
            self.faults.usage(flag)
            return
        refused, self.core.state[Slot.REFUSED] = self.core.state[Slot.REFUSED], 0
        self._handle(self.core.step())
        self.core.state[Slot.REFUSED] = refused

    def _handle_coprocessor(self) -> None:
        """Fault at an access to a coprocessor; a chip overrides this if it has one besides the FPU."""
        self.faults.usage("NOCP")

    def _take_core_fault(self) -> None:
        fault, self.core.fault = self.core.fault, None
        assert fault is not None
        raise fault

    def _stop(self, fault: ModelFault) -> None:
        self.fault = fault
        self.log(f"the chip stops: {fault}")

    def debugger_is_clocked(self) -> bool:
        """Return whether the core's debug access port has a clock while the core sleeps; a chip may override this."""
        return True

    # interface to the system control block (scb.System)

    def set_fpu(self, on: bool) -> None:
        self.core.state[Slot.REFUSED] = self.spec.refused | (0 if on else HAS_FP)
        self.core.break_soon()

    def active_exception(self) -> int:
        return self.nvic.active[-1] if self.nvic.active else 0

    def _after_write(self) -> None:
        """After a register write, end the slice if an exception may be taken now, or later when it is unmasked."""
        self.hazards.after_write()
        best = self.nvic.best()
        if best is None:
            self.core.watch(False)
        elif self.nvic.group(best) < self.exceptions.priority():
            self.core.break_soon()
        else:
            self.core.watch(True)


class Uart(Protocol):
    """The chip's UART at the serial port."""

    @property
    def backlog(self) -> int: ...

    @property
    def transmitting(self) -> bool: ...

    def feed(self, data: bytes) -> None: ...


class Chip(Machine):
    """A machine with flash and serial port; every chip is a subclass."""

    @property
    def contents(self) -> np.ndarray:
        """Contents of the flash, uint8[size in bytes]."""
        raise NotImplementedError

    def show_main(self) -> None:
        """Let `contents` be those of the flash itself, where the core sees older ones in its cache."""
        self.scb.power_on()

    @property
    def serial(self) -> Uart:
        """The UART of the board's serial port."""
        raise NotImplementedError

    @property
    def usb(self) -> UsbFunction:
        """The USB device controller of the board's connector; raise RigError if this chip has no model of it."""
        raise RigError("this virtual chip has no USB controller; leave out --usb")

    @property
    def waits_for_uf2(self) -> bool:
        """Whether the boot ROM offers a drive for UF2 files now."""
        return False

    def take_uf2(self, pages: dict[int, bytes]) -> None:
        """Program pages by their address as the boot ROM does, and start; raise RigError if it does no such thing."""
        raise RigError("the boot ROM of this chip takes no UF2 files")

    @property
    def waits_for_reports(self) -> bool:
        """Whether the board offers HalfKay, the boot loader of a Teensy, now."""
        return False

    def take_report(self, report: bytes) -> None:
        """Take a report for HalfKay; raise RigError if the board does not wait for one."""
        raise RigError("this board has no HalfKay")

    def protect(self, level: int) -> None:
        """Protect the chip against debuggers, as an earlier owner may have; raise RigError if it has no such thing."""
        raise RigError(f"this chip has no protection of level {level}")
