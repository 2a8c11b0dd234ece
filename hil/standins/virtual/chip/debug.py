"""Debug and trace of Cortex-M7: halting control, breakpoints, cycle counter, and the ROM tables that list them.

`WordBreakpoints` are those of the cores before it, which match one or both halfwords of a word.

Sources: ARM DDI 0403E.e, C1; ARM DDI 0489, debug and trace. ITM, TPIU, ETM and CTI are not modelled, and not present in
the ROM table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from hil.standins.virtual.chip.bus import Bus
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.registers import Block, Register

# The two highest bits of a comparator (REPLACE, BP_MATCH): break at the lower halfword, the upper one, or both.
_LOWER, _UPPER = 1, 2
DBGKEY = 0xA05F
C_DEBUGEN, C_HALT, C_STEP, C_MASKINTS = 1, 2, 4, 8
TRCENA, VC_CORERESET = 1 << 24, 1
LAR_KEY = 0xC5ACCE55
BREAKPOINTS = 8
_ARM_JEP106 = 0x23B


def component_ids(part: int, kind: int, architecture: int = 0) -> dict[int, int]:
    """Return the CoreSight identification registers of an Arm part by offset (ARM IHI 0029, B2.2).

    `kind` is the component class, `architecture` DEVARCH.
    """
    continuation, code = _ARM_JEP106 >> 7 & 0xF, _ARM_JEP106 & 0x7F
    peripheral = (part & 0xFF, part >> 8 | (code & 0xF) << 4, code >> 4 | 8)
    ids = {0xFE0 + 4 * i: value for i, value in enumerate(peripheral)}
    ids |= {0xFEC: 0, 0xFD0: continuation, 0xFD4: 0, 0xFD8: 0, 0xFDC: 0}
    if architecture:
        ids |= {0xFBC: architecture} | dict.fromkeys((0xFC0, 0xFC4, 0xFC8, 0xFCC), 0)  # and DEVID, DEVTYPE
    return ids | {0xFF0: 0x0D, 0xFF4: kind << 4, 0xFF8: 0x05, 0xFFC: 0xB1}


class Rom:
    """A read-only page: words by offset, and zero elsewhere."""

    def __init__(self, name: str, base: int, words: dict[int, int]) -> None:
        self.name = name
        self.base = base
        self._words = words

    def read(self, offset: int, size: int) -> int:
        return self._words.get(offset & ~3, 0) >> 8 * (offset & 3) & (1 << 8 * size) - 1

    def write(self, offset: int, _size: int, _value: int) -> None:
        raise ModelFault(f"write of 0x{self.base + offset:08X}: {self.name} is read only", self.base + offset, "write")


class Halting(Protocol):
    """What the debugger does through these registers (halting.HaltingDebug)."""

    def status(self) -> int: ...

    def control(self, wanted: int) -> None: ...

    def read_register(self, number: int) -> int: ...

    def write_register(self, number: int, value: int) -> None: ...


class Counter(Protocol):
    """A counter of core clock cycles (core.ArmCore)."""

    @property
    def count(self) -> int: ...


class DebugControl(Block):
    """DHCSR, DCRSR, DCRDR and DEMCR (C1.6). They survive a system reset.

    Attributes:
        taken: whether a debug probe has ever written DHCSR.
    """

    REGISTERS: tuple[Register, ...] = (
        Register("DHCSR", 0xDF0, "C_DEBUGEN:0 C_HALT:1 C_STEP:2 C_MASKINTS:3 C_SNAPSTALL:5 S_REGRDY_KEY:16-31/w"),
        Register("DCRSR", 0xDF4, "REGSEL:0-6/w REGWnR:16/w"),
        Register("DCRDR", 0xDF8, "DBGTMP:0-31"),
        Register("DEMCR", 0xDFC, "VC_CORERESET:0 VC_MMERR:4 VC_NOCPERR:5 VC_CHKERR:6 VC_STATERR:7 VC_BUSERR:8 "
                 "VC_INTERR:9 VC_HARDERR:10 MON_EN:16/x MON_PEND:17/x MON_STEP:18/x MON_REQ:19/x TRCENA:24"),
    )  # fmt: skip

    def __init__(self, halting: Halting, bus: Bus) -> None:
        super().__init__("DEBUG", 0xE000E000)
        self._halting = halting
        self._bus = bus
        self.taken = False

    def power_on(self) -> None:
        """Forget what a debugger had set: a power-on reset clears DHCSR and DEMCR (C1.6.2, C1.6.5)."""
        self.value["DHCSR"] = self.value["DEMCR"] = 0

    def read_dhcsr(self, value: int) -> int:
        return value | self._halting.status()

    def write_dhcsr(self, _old: int, new: int, acting: int) -> None:
        # The core can neither set C_DEBUGEN nor halt itself without it (C1.6.2), so only the debugger writes here.
        if acting >> 16 == DBGKEY and self._bus.debugger:
            if not new & C_DEBUGEN:
                new &= ~(C_HALT | C_STEP | C_MASKINTS)
            self.taken = True
            self.value["DHCSR"] = new
            self._halting.control(new)

    def write_dcrsr(self, _old: int, _new: int, acting: int) -> None:
        number = acting & 0x7F
        if acting >> 16 & 1:
            self._halting.write_register(number, self.value["DCRDR"])
        else:
            self.value["DCRDR"] = self._halting.read_register(number)


class BreakpointUnit(Block):
    """FPB version 2: comparators with full addresses (ARM DDI 0403E.e, C1.11)."""

    REGISTERS = (
        Register("FP_CTRL", 0x000, "ENABLE:0 KEY:1/w NUM_CODE:4-7/r NUM_LIT:8-11/r NUM_CODE2:12-14/r REV:28-31/r",
                 0x10000000 | BREAKPOINTS << 4),
        Register("FP_REMAP", 0x004, "VALUE:0-31/r"),
        *(Register(f"FP_COMP{i}", 8 + 4 * i, "BE:0 BPADDR:1-31") for i in range(BREAKPOINTS)),
        *(Register(f"ID_{offset:03X}", offset, "VALUE:0-31/r", value)
          for offset, value in component_ids(0x00E, 0xE).items()),
    )  # fmt: skip

    def __init__(self, changed: Callable[[set[int]], None]) -> None:
        super().__init__("FPB", 0xE0002000)
        self._changed = changed
        for i in range(BREAKPOINTS):
            self._writers[f"FP_COMP{i}"] = lambda _old, new, _acting, i=i: self._set(f"FP_COMP{i}", new)

    def write_fp_ctrl(self, _old: int, new: int, acting: int) -> None:
        if acting:
            self._set("FP_CTRL", new)

    def _set(self, register: str, value: int) -> None:
        self.value[register] = value
        comparators = [self.value[f"FP_COMP{i}"] for i in range(BREAKPOINTS)]
        enabled = self.value["FP_CTRL"] & 1
        self._changed({c & ~1 for c in comparators if c & 1} if enabled else set())


class TraceUnit(Block):
    """DWT: the cycle counter. The comparators are registers without effect, and the other counters do not count.

    Args:
        counter: core clock cycles since power-on.
        control: block with DEMCR.TRCENA.
        bus: tells whether an access comes from the debugger, to which the software lock does not apply.
    """

    REGISTERS = (
        Register("CTRL", 0x000, "CYCCNTENA:0 POSTPRESET:1-4 POSTINIT:5-8 CYCTAP:9 SYNCTAP:10-11 PCSAMPLENA:12/x "
                 "EXCTRCENA:16/x CPIEVTENA:17 EXCEVTENA:18 SLEEPEVTENA:19 LSUEVTENA:20 FOLDEVTENA:21 CYCEVTENA:22/x "
                 "NOPRFCNT:24/r NOCYCCNT:25/r NOEXTTRIG:26/r NOTRCPKT:27/r NUMCOMP:28-31/r", 0x40000000),
        Register("CYCCNT", 0x004, "CYCCNT:0-31"),
        *(Register(name, 8 + 4 * i, "COUNT:0-7") for i, name in enumerate(
            ("CPICNT", "EXCCNT", "SLEEPCNT", "LSUCNT", "FOLDCNT"))),
        Register("PCSR", 0x01C, "VALUE:0-31/r"),
        *(Register(f"COMP{i}", 0x20 + 16 * i, "COMP:0-31") for i in range(4)),
        *(Register(f"MASK{i}", 0x24 + 16 * i, "MASK:0-4") for i in range(4)),
        *(Register(f"FUNCTION{i}", 0x28 + 16 * i, "FUNCTION:0-3/x EMITRANGE:5/x CYCMATCH:7/x DATAVMATCH:8/x "
                   "LNK1ENA:9/r DATAVSIZE:10-11 DATAVADDR0:12-15 DATAVADDR1:16-19 MATCHED:24/r") for i in range(4)),
        Register("LAR", 0xFB0, "KEY:0-31/w"), Register("LSR", 0xFB4, "SLI:0/r SLK:1/r NTT:2/r", 1),
        *(Register(f"ID_{offset:03X}", offset, "VALUE:0-31/r", value)
          for offset, value in component_ids(0x002, 0xE).items()),
    )  # fmt: skip

    def __init__(self, counter: Counter, control: DebugControl, bus: Bus) -> None:
        super().__init__("DWT", 0xE0001000)
        self._counter = counter
        self._control = control
        self._bus = bus
        self._locked = True
        self._offset = 0

    def reset(self) -> None:
        """Do nothing: only power-on resets the trace unit."""

    def read(self, offset: int, size: int) -> int:
        self._check(offset, "read")
        return super().read(offset, size)

    def write(self, offset: int, size: int, value: int) -> None:
        self._check(offset, "write")
        if offset == 0xFB0 or not self._locked or self._bus.debugger:
            super().write(offset, size, value)

    def _check(self, offset: int, access: str) -> None:
        if not self._control.value["DEMCR"] & TRCENA and not self._bus.debugger:
            address = self.base + offset
            raise ModelFault(f"{access} of DWT 0x{address:08X}: trace is off; set DEMCR.TRCENA first", address, access)

    def write_lar(self, _old: int, _new: int, acting: int) -> None:
        self._locked = acting != LAR_KEY

    def read_lsr(self, value: int) -> int:
        return value if self._bus.debugger else value | self._locked << 1

    def read_cyccnt(self, value: int) -> int:
        running = self.value["CTRL"] & 1
        return self._counter.count - self._offset & 0xFFFFFFFF if running else value

    def write_cyccnt(self, _old: int, new: int, _acting: int) -> None:
        self._offset = self._counter.count - new
        self.value["CYCCNT"] = new

    def write_ctrl(self, old: int, new: int, _acting: int) -> None:
        if (old ^ new) & 1:
            if new & 1:
                self._offset = self._counter.count - self.value["CYCCNT"]
            else:
                self.value["CYCCNT"] = self._counter.count - self._offset & 0xFFFFFFFF
        self.value["CTRL"] = new


def rom_tables() -> list[Rom]:
    """Return the ROM table of the processor and that of its private peripherals."""
    processor = {0: 0x00001003} | component_ids(0x4C8, 0x1)
    private = {0: 0xFFF0F003, 4: 0xFFF02003, 8: 0xFFF03003, 12: 0xFFF01002} | component_ids(0x4C7, 0x1)
    return [Rom("ROM table", 0xE00FE000, processor), Rom("PPB ROM table", 0xE00FF000, private)]


def scs_ids() -> Rom:
    """Return the identification registers of the system control space, which are in its last 64 bytes."""
    return Rom("SCS", 0xE000E000, component_ids(0x00C, 0xE))


class WordBreakpoints(Block):
    """Breakpoints in the code region below 0x20000000.

    A subclass defines `PREFIX`, and `REGISTERS` with `{PREFIX}_CTRL` and comparators from `{PREFIX}_COMP0` on.

    Args:
        name: name of the unit.
        comparators: number of comparators that match instructions.
        changed: called with all breakpoint addresses after a change.
    """

    PREFIX = ""

    def __init__(self, name: str, comparators: int, changed: Callable[[set[int]], None]) -> None:
        super().__init__(name, 0xE0002000)
        self._changed = changed
        self._control = f"{self.PREFIX}_CTRL"
        self._comparators = [f"{self.PREFIX}_COMP{i}" for i in range(comparators)]
        self._writers[self._control] = self._write_control
        for register in self._comparators:
            self._writers[register] = lambda _old, new, _acting, register=register: self._set(register, new)

    def _write_control(self, _old: int, new: int, acting: int) -> None:
        if acting:  # KEY: without it a write has no effect
            self._set(self._control, new)

    def _set(self, register: str, value: int) -> None:
        self.value[register] = value
        addresses = set()
        for comparator in (self.value[name] for name in self._comparators):
            if comparator & 1 and self.value[self._control] & 1:
                word = comparator & 0x1FFFFFFC
                addresses |= {word} if comparator >> 30 & _LOWER else set()
                addresses |= {word + 2} if comparator >> 30 & _UPPER else set()
        self._changed(addresses)
