"""Private peripherals of Cortex-M33: system control, SAU, MPU of Armv8-M, breakpoints, cycle counter, ROM table.

Sources: ARM DDI 0553B.y (Armv8-M), D1.2; ARM 100230 (Cortex-M33 TRM), system control and debug, for the values of the
identification registers. The core stays in the Secure state in which it starts: the regions of SAU and MPU are stored,
but not enforced, and there are no banked registers of the Non-secure state. Two enabled MPU regions that overlap are a
fault, because an access to both is one (B10.1).
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from hil.standins.virtual.chip import debug
from hil.standins.virtual.chip.bus import Bus
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.nvic import SECURE_FAULT
from hil.standins.virtual.chip.registers import Register
from hil.standins.virtual.chip.scb import ID, SystemControlBlock

if TYPE_CHECKING:
    from hil.standins.virtual.chip.machine import Machine

CPUID = 0x411FD210  # Cortex-M33 r1p0
MPU_REGIONS = SAU_REGIONS = 8
BREAKPOINTS, WATCHPOINTS = 8, 4
PART = 0xD21  # of every component of the core
_PRESENT = 0x477 << 20 | 1 << 20  # DEVARCH: ARM as the architect
_V7M_ONLY = {
    "CLIDR", "CCSIDR", "CSSELR", "ICIALLU", "ICIMVAU", "DCIMVAC", "DCISW", "DCCMVAU", "DCCMVAC", "DCCSW", "DCCIMVAC",
    "DCCISW", "BPIALL", "ITCMCR", "DTCMCR", "AHBPCR", "CACR", "AHBSCR", "ABFSR", "MPU_RBAR", "MPU_RASR",
}  # fmt: skip
_RBAR, _RLAR = "XN:0 AP:1-2 SH:3-4 BASE:5-31", "EN:0 ATTRINDX:1-3 LIMIT:5-31"
_BYTES = "ATTR0:0-7 ATTR1:8-15 ATTR2:16-23 ATTR3:24-31"


def _coprocessors(width: int) -> str:
    return " ".join(f"CP{n}:{width * n}" + (f"-{width * n + 1}" if width == 2 else "") for n in (*range(8), 10, 11))


def _own(priority_bits: int, interrupts: int) -> tuple[Register, ...]:
    """Return the registers that differ from those of Armv7-M, or that it does not have."""
    low = 8 - priority_bits

    def priorities(*exceptions: int) -> str:
        return " ".join(f"PRI_{n}:{n % 4 * 8 + low}-{n % 4 * 8 + 7}" for n in exceptions)

    return (
        Register("ICTR", 0x004, ID, (interrupts - 1) // 32),
        Register("ACTLR", 0x008, "DISMCYCINT:0 DISFOLD:2 DISOOFP:9 FPEXCODIS:10 DISITMATBFLUSH:12 EXTEXCLALL:29"),
        Register("ICSR", 0xD04, "VECTACTIVE:0-8/r RETTOBASE:11/r VECTPENDING:12-20/r ISRPENDING:22/r ISRPREEMPT:23/r "
                 "STTNS:24/x PENDSTCLR:25/w PENDSTSET:26/w PENDSVCLR:27/w PENDSVSET:28/w PENDNMICLR:30/w "
                 "PENDNMISET:31/w"),
        Register("AIRCR", 0xD0C, "VECTCLRACTIVE:1/w SYSRESETREQ:2/w SYSRESETREQS:3 PRIGROUP:8-10 BFHFNMINS:13/x "
                 "PRIS:14 ENDIANNESS:15/r VECTKEY:16-31/w"),
        Register("SCR", 0xD10, "SLEEPONEXIT:1 SLEEPDEEP:2 SLEEPDEEPS:3 SEVONPEND:4"),
        Register("CCR", 0xD14, "RES1_1:0/r USERSETMPEND:1 UNALIGN_TRP:3/x DIV_0_TRP:4/x BFHFNMIGN:8 RES1:9/r "
                 "STKOFHFNMIGN:10/x", 0x201),
        Register("SHPR1", 0xD18, priorities(4, 5, 6, 7)), Register("SHPR2", 0xD1C, priorities(11)),
        Register("SHPR3", 0xD20, priorities(12, 14, 15)),
        Register("SHCSR", 0xD24, "MEMFAULTACT:0/r BUSFAULTACT:1/r HARDFAULTACT:2/r USGFAULTACT:3/r "
                 "SECUREFAULTACT:4/r NMIACT:5/r SVCALLACT:7/r MONITORACT:8/r PENDSVACT:10/r SYSTICKACT:11/r "
                 "USGFAULTPENDED:12/r MEMFAULTPENDED:13/r BUSFAULTPENDED:14/r SVCALLPENDED:15/r MEMFAULTENA:16 "
                 "BUSFAULTENA:17 USGFAULTENA:18 SECUREFAULTENA:19 SECUREFAULTPENDED:20/r HARDFAULTPENDED:21/r"),
        Register("CFSR", 0xD28, "IACCVIOL:0/c DACCVIOL:1/c MUNSTKERR:3/c MSTKERR:4/c MLSPERR:5/c MMARVALID:7/c "
                 "IBUSERR:8/c PRECISERR:9/c IMPRECISERR:10/c UNSTKERR:11/c STKERR:12/c LSPERR:13/c BFARVALID:15/c "
                 "UNDEFINSTR:16/c INVSTATE:17/c INVPC:18/c NOCP:19/c STKOF:20/c UNALIGNED:24/c DIVBYZERO:25/c"),
        # Bit 5, PMU, is of Armv8.1-M; debuggers clear it with the others.
        Register("DFSR", 0xD30, "HALTED:0/c BKPT:1/c DWTTRAP:2/c VCATCH:3/c EXTERNAL:4/c PMU:5/r"),
        Register("ID_PFR1", 0xD44, ID, 0x210), Register("ID_DFR0", 0xD48, ID, 0x200000),
        Register("ID_MMFR0", 0xD50, ID, 0x00101F40), Register("ID_ISAR0", 0xD60, ID, 0x01141110),
        Register("ID_ISAR1", 0xD64, ID, 0x02212000), Register("ID_ISAR2", 0xD68, ID, 0x20232232),
        Register("ID_ISAR3", 0xD6C, ID, 0x01111131), Register("ID_ISAR4", 0xD70, ID, 0x01310132),
        Register("CTR", 0xD7C, ID, 0x8000C000),
        Register("CPACR", 0xD88, _coprocessors(2)), Register("NSACR", 0xD8C, _coprocessors(1)),
        Register("MPU_RNR", 0xD98, "REGION:0-2"),
        *(Register(f"MPU_RBAR{alias}", 0xD9C + 8 * i, _RBAR) for i, alias in enumerate(("", "_A1", "_A2", "_A3"))),
        *(Register(f"MPU_RLAR{alias}", 0xDA0 + 8 * i, _RLAR) for i, alias in enumerate(("", "_A1", "_A2", "_A3"))),
        Register("MPU_MAIR0", 0xDC0, _BYTES), Register("MPU_MAIR1", 0xDC4, _BYTES),
        Register("SAU_CTRL", 0xDD0, "ENABLE:0 ALLNS:1/x"), Register("SAU_TYPE", 0xDD4, ID, SAU_REGIONS),
        Register("SAU_RNR", 0xDD8, "REGION:0-2"), Register("SAU_RBAR", 0xDDC, "BADDR:5-31"),
        Register("SAU_RLAR", 0xDE0, "ENABLE:0 NSC:1 LADDR:5-31"),
        Register("SFSR", 0xDE4, "INVEP:0/c INVIS:1/c INVER:2/c AUVIOL:3/c INVTRAN:4/c LSPERR:5/c SFARVALID:6/c "
                 "LSERR:7/c"),
        Register("SFAR", 0xDE8, "ADDRESS:0-31"),
        Register("DSCSR", 0xE08, "SBRSELEN:0 SBRSEL:1 CDS:16 CDSKEY:17/w", 1 << 16),
        Register("FPCCR", 0xF34, "LSPACT:0/r USER:1/r S:2 THREAD:3/r HFRDY:4/r MMRDY:5/r BFRDY:6/r SFRDY:7/r "
                 "MONRDY:8/r SPLIMVIOL:9/r UFRDY:10/r TS:26/x CLRONRETS:27/x CLRONRET:28/x LSPENS:29 LSPEN:30 ASPEN:31",
                 0xC0000004),
        Register("MVFR0", 0xF40, ID, 0x10110021), Register("MVFR1", 0xF44, ID, 0x11000011),
    )  # fmt: skip


class SystemControlBlockM33(SystemControlBlock):
    """SCB, MPU, SAU and FPU registers of a core in the Secure state.

    Args:
        machine: machine with this core; its `spec` gives the number of interrupts and of priority bits.
    """

    def __init__(self, machine: Machine) -> None:
        own = {register.name: register for register in _own(machine.spec.priority_bits, machine.spec.interrupts)}
        inherited = (r for r in SystemControlBlock.REGISTERS if r.name not in _V7M_ONLY and r.name not in own)
        self.REGISTERS = (*inherited, *own.values())
        self._bus = machine.bus
        self._areas = [(0, 0)] * SAU_REGIONS
        super().__init__(machine, CPUID, 0, 0, MPU_REGIONS)
        for n in (1, 2, 3):
            self._readers[f"MPU_RBAR_A{n}"] = lambda _value, n=n: self._regions[self._region(n)][0]
            self._readers[f"MPU_RLAR_A{n}"] = lambda _value, n=n: self._regions[self._region(n)][1]
            self._writers[f"MPU_RBAR_A{n}"] = lambda _old, new, _acting, n=n: self._set_region(n, new, None)
            self._writers[f"MPU_RLAR_A{n}"] = lambda _old, new, _acting, n=n: self._set_region(n, None, new)
        self.on_write("MPU_CTRL", then=self._check_overlap)

    def reset(self) -> None:
        super().reset()
        self._areas = [(0, 0)] * SAU_REGIONS

    def read(self, offset: int, size: int) -> int:
        # Debuggers read registers of other cores there; reserved words read as zero.
        if self._bus.debugger and offset & ~3 not in self._at:
            return 0
        return super().read(offset, size)

    # exceptions

    def read_shcsr(self, value: int) -> int:
        active = self._system.nvic.active
        return super().read_shcsr(value) | (3 in active) << 2 | (SECURE_FAULT in active) << 4 | (2 in active) << 5

    def write_shcsr(self, old: int, new: int, acting: int) -> None:
        super().write_shcsr(old, new, acting)
        self._system.nvic.enable_fault(SECURE_FAULT, bool(new >> 19 & 1))

    # MPU (D1.2.175 to 181)

    def _region(self, alias: int) -> int:
        """Return the region of a register; the aliases are those of the group of four that RNR is in."""
        number = self.value["MPU_RNR"]
        return number if alias == 0 else number & ~3 | alias

    def read_mpu_rbar(self, _value: int) -> int:
        return self._regions[self._region(0)][0]

    def write_mpu_rbar(self, _old: int, new: int, _acting: int) -> None:
        self._set_region(0, new, None)

    def read_mpu_rlar(self, _value: int) -> int:
        return self._regions[self._region(0)][1]

    def write_mpu_rlar(self, _old: int, new: int, _acting: int) -> None:
        self._set_region(0, None, new)

    def _set_region(self, alias: int, base: int | None, limit: int | None) -> None:
        region = self._region(alias)
        old_base, old_limit = self._regions[region]
        self._regions[region] = old_base if base is None else base, old_limit if limit is None else limit
        self._check_overlap()

    def _check_overlap(self) -> None:
        """Raise ModelFault if two enabled regions overlap while the MPU is on."""
        if not self.value["MPU_CTRL"] & 1:
            return
        spans = sorted((base & ~31, limit | 31, n) for n, (base, limit) in enumerate(self._regions) if limit & 1)
        for (_, end, first), (start, _, second) in pairwise(spans):
            if start <= end:
                raise ModelFault(f"the MPU regions {first} and {second} overlap at 0x{start:08X}", 0xE000ED9C, "write")

    # SAU (D1.2.221 to 225)

    def read_sau_rbar(self, _value: int) -> int:
        return self._areas[self.value["SAU_RNR"]][0]

    def write_sau_rbar(self, _old: int, new: int, _acting: int) -> None:
        self._areas[self.value["SAU_RNR"]] = new, self._areas[self.value["SAU_RNR"]][1]

    def read_sau_rlar(self, _value: int) -> int:
        return self._areas[self.value["SAU_RNR"]][1]

    def write_sau_rlar(self, _old: int, new: int, _acting: int) -> None:
        self._areas[self.value["SAU_RNR"]] = self._areas[self.value["SAU_RNR"]][0], new

    # debug

    def write_dscsr(self, _old: int, new: int, acting: int) -> None:
        """Only a debugger may write, and CDS only with CDSKEY = 0 (D1.2.89); it cannot leave the Secure state here."""
        if self._bus.debugger:
            keep = self.mask("DSCSR", "CDS")
            if not acting and not new & keep:
                raise ModelFault("DSCSR.CDS is cleared: the Non-secure state is not modelled", 0xE000EE08, "write")
            self.value["DSCSR"] = new | keep


class DebugControlM33(debug.DebugControl):
    """DHCSR and DEMCR with secure debug enabled: S_SDE and SDME are set."""

    REGISTERS = tuple(
        Register(r.name, r.offset, f"{r.fields} VC_SFERR:11 SDME:20/r", 1 << 20) if r.name == "DEMCR" else r
        for r in debug.DebugControl.REGISTERS
    )

    def power_on(self) -> None:
        super().power_on()
        self.value["DEMCR"] = 1 << 20

    def read_dhcsr(self, value: int) -> int:
        return super().read_dhcsr(value) | 1 << 20


class TraceM33(debug.TraceUnit):
    """DWT of Armv8-M: the cycle counter, and comparators as registers without effect. There is no software lock."""

    REGISTERS = (
        Register("CTRL", 0x000, "CYCCNTENA:0 POSTPRESET:1-4 POSTINIT:5-8 CYCTAP:9 SYNCTAP:10-11 PCSAMPLENA:12/x "
                 "EXTTRCENA:16/x CPIEVTENA:17 EXCEVTENA:18 SLEEPEVTENA:19 LSUEVTENA:20 FOLDEVTENA:21 CYCEVTENA:22/x "
                 "CYCDISS:23/x NOPRFCNT:24/r NOCYCCNT:25/r NOEXTTRIG:26/r NOTRCPKT:27/r NUMCOMP:28-31/r",
                 WATCHPOINTS << 28),
        Register("CYCCNT", 0x004, "CYCCNT:0-31"),
        *(Register(name, 8 + 4 * i, "COUNT:0-7") for i, name in enumerate(
            ("CPICNT", "EXCCNT", "SLEEPCNT", "LSUCNT", "FOLDCNT"))),
        Register("PCSR", 0x01C, "VALUE:0-31/r"),
        *(Register(f"COMP{i}", 0x20 + 16 * i, "COMP:0-31") for i in range(WATCHPOINTS)),
        *(Register(f"FUNCTION{i}", 0x28 + 16 * i, "MATCH:0-3/x ACTION:4-5/x DATAVSIZE:10-11 MATCHED:24/r ID:27-31/r",
                   number << 27) for i, number in enumerate((0xB, 0x1E, 0xA, 0x1E))),
        *(Register(f"ID_{offset:03X}", offset, "VALUE:0-31/r", value)
          for offset, value in debug.component_ids(PART, 0x9, _PRESENT | 0x1A02).items()),
    )  # fmt: skip

    def __init__(self, counter: debug.Counter, control: debug.DebugControl, bus: Bus) -> None:
        super().__init__(counter, control, bus)
        self._locked = False


class BreakpointUnitM33(debug.BreakpointUnit):
    """FPB of Armv8-M: comparators with full addresses."""

    REGISTERS = (
        Register("FP_CTRL", 0x000, "ENABLE:0 KEY:1/w NUM_CODE:4-7/r NUM_LIT:8-11/r NUM_CODE2:12-14/r REV:28-31/r",
                 0x10000000 | BREAKPOINTS << 4),
        Register("FP_REMAP", 0x004, "VALUE:0-31/r"),
        *(Register(f"FP_COMP{i}", 8 + 4 * i, "BE:0 BPADDR:1-31") for i in range(BREAKPOINTS)),
        *(Register(f"ID_{offset:03X}", offset, "VALUE:0-31/r", value)
          for offset, value in debug.component_ids(PART, 0x9, _PRESENT | 0x1A03).items()),
    )  # fmt: skip


def identification() -> tuple[debug.Rom, debug.Rom]:
    """Return the identification registers of the system control space, and the ROM table that lists the components.

    ITM, ETM, CTI and TPIU are not modelled and not present in the table (ARM 100230, debug).
    """
    scs = debug.Rom("SCS", 0xE000E000, debug.component_ids(PART, 0x9, _PRESENT | 0x2A04))
    table = {0: 0xFFF0F003, 4: 0xFFF02003, 8: 0xFFF03003, 12: 0xFFF01002} | debug.component_ids(0x4C9, 0x1)
    return scs, debug.Rom("ROM table", 0xE00FF000, table)


def private_peripherals(machine: Machine) -> SystemControlBlock:
    """Attach everything at 0xE0000000 to a machine."""
    scb = SystemControlBlockM33(machine)
    machine.debug = DebugControlM33(machine.halting, machine.bus)
    scs, table = identification()
    attach = machine.bus.attach
    attach(scb, 0x10, 0x000)
    attach(machine.systick, 0x10, 0x010)
    attach(machine.nvic, 0x500)
    attach(scb, 0xF0, 0xD00)
    attach(machine.debug, 0x10, 0xDF0)
    attach(scb, 0x10, 0xE00)
    attach(scb, 0xB0, 0xF00)
    attach(scs, 0x50, 0xFB0)
    attach(BreakpointUnitM33(machine.core.set_breakpoints), 0x1000)
    attach(TraceM33(machine.core, machine.debug, machine.bus), 0x1000)
    attach(table, 0x1000)
    return scb
