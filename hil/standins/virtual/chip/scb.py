"""System control block of Armv7-M: SCB, MPU and FPU registers, with those of Cortex-M7's caches (`scb_m7`).

Sources: ARM DDI 0403E.e, B3.2, B3.5 and B4; ARM DDI 0489, system control. The MPU's registers are stored, but its
access permissions are not enforced. An address that the chip does not have faults in any case.
"""

from __future__ import annotations

from typing import Protocol

from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.nvic import (
    BUS_FAULT,
    MEM_MANAGE,
    NMI,
    PEND_SV,
    SVCALL,
    SYSTICK,
    USAGE_FAULT,
    Nvic,
)
from hil.standins.virtual.chip.registers import Block, Register

ID = "VALUE:0-31/r"
VECTKEY, VECTKEY_READ = 0x05FA, 0xFA05
_MAINTENANCE = (
    ("ICIALLU", 0xF50), ("ICIMVAU", 0xF58), ("DCIMVAC", 0xF5C), ("DCISW", 0xF60), ("DCCMVAU", 0xF64),
    ("DCCMVAC", 0xF68), ("DCCSW", 0xF6C), ("DCCIMVAC", 0xF70), ("DCCISW", 0xF74), ("BPIALL", 0xF78),
)  # fmt: skip
_REGION = "ENABLE:0 SIZE:1-5 SRD:8-15 B:16 C:17 S:18 TEX:19-21 AP:24-26 XN:28"


class System(Protocol):
    """Interface of the machine that this block uses."""

    nvic: Nvic

    def request_reset(self) -> None: ...

    def request_core_reset(self) -> None: ...

    def set_fpu(self, on: bool) -> None: ...

    def active_exception(self) -> int: ...


class SystemControlBlock(Block):
    """SCB, cache maintenance, MPU and FPU registers.

    Args:
        system: the machine.
        cpuid: CPUID value.
        data_cache, instruction_cache: CCSIDR values.
        fixed: reset values of registers that differ from those of STM32H7.
    """

    SIZES: tuple[int, ...] = (1, 2, 4)
    REGISTERS = (
        Register("ICTR", 0x004, ID, 4),
        Register("ACTLR", 0x008, "DISFOLD:2 FPEXCODIS:10 DISRAMODE:11 DISITMATBFLUSH:12 DISBTACREAD:13 DISBTACALLOC:14 "
                 "DISCRITAXIRUR:15 DISDI:16-20 DISISSCH1:21-25 DISDYNADD:26 DISCRITAXIRUW:27 DISFPUISSOPT:28"),
        Register("CPUID", 0xD00, ID),
        Register("ICSR", 0xD04, "VECTACTIVE:0-8/r RETTOBASE:11/r VECTPENDING:12-20/r ISRPENDING:22/r ISRPREEMPT:23/r "
                 "PENDSTCLR:25/w PENDSTSET:26/w PENDSVCLR:27/w PENDSVSET:28/w NMIPENDSET:31/w"),
        Register("VTOR", 0xD08, "TBLOFF:7-31"),
        Register("AIRCR", 0xD0C, "VECTRESET:0/w VECTCLRACTIVE:1/w SYSRESETREQ:2/w PRIGROUP:8-10 ENDIANNESS:15/r "
                 "VECTKEY:16-31/w"),
        Register("SCR", 0xD10, "SLEEPONEXIT:1 SLEEPDEEP:2/x SEVONPEND:4"),
        Register("CCR", 0xD14, "NONBASETHRDENA:0 USERSETMPEND:1 UNALIGN_TRP:3/x DIV_0_TRP:4/x BFHFNMIGN:8 STKALIGN:9/r "
                 "DC:16 IC:17 BP:18/r", 0x00040200),
        Register("SHPR1", 0xD18, "PRI_4:4-7 PRI_5:12-15 PRI_6:20-23"),
        Register("SHPR2", 0xD1C, "PRI_11:28-31"),
        Register("SHPR3", 0xD20, "PRI_12:4-7 PRI_14:20-23 PRI_15:28-31"),
        Register("SHCSR", 0xD24, "MEMFAULTACT:0/r BUSFAULTACT:1/r USGFAULTACT:3/r SVCALLACT:7/r MONITORACT:8/r "
                 "PENDSVACT:10/r SYSTICKACT:11/r USGFAULTPENDED:12/r MEMFAULTPENDED:13/r BUSFAULTPENDED:14/r "
                 "SVCALLPENDED:15/r MEMFAULTENA:16 BUSFAULTENA:17 USGFAULTENA:18"),
        Register("CFSR", 0xD28, "IACCVIOL:0/c DACCVIOL:1/c MUNSTKERR:3/c MSTKERR:4/c MLSPERR:5/c MMARVALID:7/c "
                 "IBUSERR:8/c PRECISERR:9/c IMPRECISERR:10/c UNSTKERR:11/c STKERR:12/c LSPERR:13/c BFARVALID:15/c "
                 "UNDEFINSTR:16/c INVSTATE:17/c INVPC:18/c NOCP:19/c UNALIGNED:24/c DIVBYZERO:25/c"),
        Register("HFSR", 0xD2C, "VECTTBL:1/c FORCED:30/c DEBUGEVT:31/c"),
        Register("DFSR", 0xD30, "HALTED:0/c BKPT:1/c DWTTRAP:2/c VCATCH:3/c EXTERNAL:4/c"),
        Register("MMFAR", 0xD34, "ADDRESS:0-31"),
        Register("BFAR", 0xD38, "ADDRESS:0-31"),
        Register("AFSR", 0xD3C, ID),
        Register("ID_PFR0", 0xD40, ID, 0x30), Register("ID_PFR1", 0xD44, ID, 0x200),
        Register("ID_DFR0", 0xD48, ID, 0x100000), Register("ID_AFR0", 0xD4C, ID),
        Register("ID_MMFR0", 0xD50, ID, 0x00100030), Register("ID_MMFR1", 0xD54, ID),
        Register("ID_MMFR2", 0xD58, ID, 0x01000000), Register("ID_MMFR3", 0xD5C, ID),
        Register("ID_ISAR0", 0xD60, ID, 0x01101110), Register("ID_ISAR1", 0xD64, ID, 0x02112000),
        Register("ID_ISAR2", 0xD68, ID, 0x20232231), Register("ID_ISAR3", 0xD6C, ID, 0x01111131),
        Register("ID_ISAR4", 0xD70, ID, 0x01310132), Register("ID_ISAR5", 0xD74, ID),
        Register("CLIDR", 0xD78, ID, 0x09000003), Register("CTR", 0xD7C, ID, 0x8303C003),
        Register("CCSIDR", 0xD80, ID), Register("CSSELR", 0xD84, "IND:0 LEVEL:1-3"),
        Register("CPACR", 0xD88, "CP10:20-21 CP11:22-23"),
        Register("MPU_TYPE", 0xD90, ID), Register("MPU_CTRL", 0xD94, "ENABLE:0 HFNMIENA:1 PRIVDEFENA:2"),
        Register("MPU_RNR", 0xD98, "REGION:0-7"),
        Register("MPU_RBAR", 0xD9C, "REGION:0-3 VALID:4/w ADDR:5-31"), Register("MPU_RASR", 0xDA0, _REGION),
        Register("STIR", 0xF00, "INTID:0-8/w"),
        Register("FPCCR", 0xF34, "LSPACT:0/r USER:1/r THREAD:3/r HFRDY:4/r MMRDY:5/r BFRDY:6/r MONRDY:8/r LSPEN:30 "
                 "ASPEN:31", 0xC0000000),
        Register("FPCAR", 0xF38, "ADDRESS:3-31"), Register("FPDSCR", 0xF3C, "RMODE:22-23 FZ:24 DN:25 AHP:26"),
        Register("MVFR0", 0xF40, ID, 0x10110221), Register("MVFR1", 0xF44, ID, 0x12000011),
        Register("MVFR2", 0xF48, ID, 0x40),
        *(Register(name, offset, "VALUE:0-31/w") for name, offset in _MAINTENANCE),
        Register("ITCMCR", 0xF90, "EN:0 RMW:1 RETEN:2 SZ:3-6/r", 0x39),
        Register("DTCMCR", 0xF94, "EN:0 RMW:1 RETEN:2 SZ:3-6/r", 0x41),
        Register("AHBPCR", 0xF98, "EN:0 SZ:1-3/r", 0x7), Register("CACR", 0xF9C, "SIWT:0 ECCEN:1/r FORCEWT:2"),
        Register("AHBSCR", 0xFA0, "CTL:0-1 TPRI:2-10 INITCOUNT:11-15", 0x800),
        Register("ABFSR", 0xFA8, "ITCM:0/c DTCM:1/c AHBP:2/c AXIM:3/c EPPB:4/c AXIMTYPE:8-9/c"),
    )  # fmt: skip

    def __init__(
        self, system: System, cpuid: int, data_cache: int, instruction_cache: int, mpu_regions: int,
        fixed: dict[str, int] | None = None,
    ) -> None:  # fmt: skip
        super().__init__("SCB", 0xE000E000)
        self._system = system
        self._caches = data_cache, instruction_cache
        self._fixed = {"CPUID": cpuid, "MPU_TYPE": mpu_regions << 8} | (fixed or {})
        self._regions = [(0, 0)] * mpu_regions
        self.reset()

    def reset(self) -> None:
        super().reset()
        self.value.update(self._fixed)
        self._regions = [(0, 0)] * len(self._regions)

    def power_on(self) -> None:
        """Power-on reset, before the memories lose their contents; a core with a cache overrides this."""

    def priority_changed(self) -> None:
        """Note a new execution priority before the core runs; a core whose MPU depends on it overrides this."""

    def flag(self, register: str, *names: str) -> None:
        """Set status flags of a register."""
        for name in names:
            self.value[register] |= self.mask(register, name)

    def read_icsr(self, value: int) -> int:
        nvic = self._system.nvic
        waiting = nvic.waiting()
        value |= self._system.active_exception() | (nvic.best() or 0) << 12
        value |= (len(nvic.active) == 1) << 11 | bool(waiting >> 16) << 22
        return value | (waiting >> SYSTICK & 1) << 26 | (waiting >> PEND_SV & 1) << 28 | (waiting >> NMI & 1) << 31

    def write_icsr(self, _old: int, _new: int, acting: int) -> None:
        nvic = self._system.nvic
        for bit, action, number in (
            (25, nvic.unpend, SYSTICK),
            (26, nvic.pend, SYSTICK),
            (27, nvic.unpend, PEND_SV),
            (28, nvic.pend, PEND_SV),
            (31, nvic.pend, NMI),
        ):
            if acting >> bit & 1:
                action(number)

    def read_aircr(self, value: int) -> int:
        return value | VECTKEY_READ << 16

    def write_aircr(self, _old: int, new: int, acting: int) -> None:
        if acting >> 16 != VECTKEY:
            return
        self.value["AIRCR"] = new
        self._system.nvic.set_priority_group(self.field("AIRCR", "PRIGROUP"))
        if acting & 0b110 == 0b100:
            self._system.request_reset()
        elif acting & 1:
            self._system.request_core_reset()

    def _set_priorities(self, register: str, first: int, new: int) -> None:
        self.value[register] = new
        for i in range(4):
            self._system.nvic.priority[first + i] = new >> 8 * i & 0xFF

    def write_shpr1(self, _old: int, new: int, _acting: int) -> None:
        self._set_priorities("SHPR1", 4, new)

    def write_shpr2(self, _old: int, new: int, _acting: int) -> None:
        self._set_priorities("SHPR2", 8, new)

    def write_shpr3(self, _old: int, new: int, _acting: int) -> None:
        self._set_priorities("SHPR3", 12, new)

    def read_shcsr(self, value: int) -> int:
        nvic = self._system.nvic
        places = ((0, MEM_MANAGE), (1, BUS_FAULT), (3, USAGE_FAULT), (7, SVCALL), (10, PEND_SV), (11, SYSTICK))
        return value | sum(1 << bit for bit, number in places if number in nvic.active)

    def write_shcsr(self, _old: int, new: int, _acting: int) -> None:
        self.value["SHCSR"] = new
        for bit, number in ((16, MEM_MANAGE), (17, BUS_FAULT), (18, USAGE_FAULT)):
            self._system.nvic.enable_fault(number, bool(new >> bit & 1))

    def read_ccsidr(self, _value: int) -> int:
        return self._caches[self.value["CSSELR"] & 1]

    def write_cpacr(self, _old: int, new: int, _acting: int) -> None:
        self.value["CPACR"] = new
        self._system.set_fpu(new >> 20 & 0xF in (0x5, 0xF))

    def write_stir(self, _old: int, _new: int, acting: int) -> None:
        self._system.nvic.pend(16 + acting)

    def write_mpu_rnr(self, _old: int, new: int, _acting: int) -> None:
        if new >= len(self._regions):
            raise ModelFault(f"MPU_RNR is set to {new}, the core has {len(self._regions)} regions", 0xE000ED98, "write")
        self.value["MPU_RNR"] = new

    def write_mpu_rbar(self, _old: int, new: int, acting: int) -> None:
        if acting:
            self.write_mpu_rnr(0, new & 0xF, 0)
        region = self.value["MPU_RNR"]
        self._regions[region] = new & ~0x1F, self._regions[region][1]

    def read_mpu_rbar(self, _value: int) -> int:
        region = self.value["MPU_RNR"]
        return self._regions[region][0] | region

    def write_mpu_rasr(self, _old: int, new: int, _acting: int) -> None:
        region = self.value["MPU_RNR"]
        self._regions[region] = self._regions[region][0], new

    def read_mpu_rasr(self, _value: int) -> int:
        return self._regions[self.value["MPU_RNR"]][1]
