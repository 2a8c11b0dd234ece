"""Identification and system configuration of STM32H7A3/7B3: DBGMCU, SYSCFG (RM0455, chapters of these names)."""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.bus import Bus
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.registers import Block, Register

DEV_ID = 0x480  # STM32H7A3/7B3 and 7B0
REV_ID = 0x1007


SYSTEM_DEBUG = 0xE00E0000  # base of the system's debug bus, which access port 2 reaches


class NotHere:
    """Where a debugger finds nothing through access port 0: DBGMCU has this address on access port 2 only.

    That an access does not fail is concluded from pyOCD's target for STM32H7B0, which writes there and goes on.

    Args:
        bus: tells whether an access comes from the debugger.
        log: receives one line at the first write.
    """

    name, base = "DBGMCU of access port 2", SYSTEM_DEBUG + 0x1000

    def __init__(self, bus: Bus, log: Callable[[str], None]) -> None:
        self._bus, self._log, self._said = bus, log, False

    def read(self, offset: int, _size: int) -> int:
        return self._access(offset, "read")

    def write(self, offset: int, _size: int, _value: int) -> None:
        self._access(offset, "write")

    def _access(self, offset: int, access: str) -> int:
        address = self.base + offset
        if not self._bus.debugger:
            raise ModelFault(f"{access} of 0x{address:08X}: the core finds DBGMCU at 0x5C001000", address, access)
        if not self._said:
            self._said = True
            self._log(
                f"hazard: the debugger accesses 0x{address:08X} through access port 0, without an effect: DBGMCU is at "
                "0x5C001000 there, at 0xE00E1000 through access port 2 only (RM0455, debug infrastructure)"
            )
        return 0


class Stm32H7b3DbgMcu(Block):
    """Debug support, on the system bus and on the system's debug bus. Only power-on resets it."""

    REGISTERS = (
        Register("IDCODE", 0x00, "DEV_ID:0-11/r REV_ID:16-31/r", REV_ID << 16 | DEV_ID),
        Register("CR", 0x04, "DBGSLEEP_CD:0 DBGSTOP_CD:1 DBGSTBY_CD:2 DBGSTOP_SRD:7 DBGSTBY_SRD:8 TRACECLKEN:20 "
                 "CDDBGCKEN:21 SRDDBGCKEN:22 TRGOEN:28"),
        Register("APB3FZ1", 0x34, "WWDG:6"),
        Register("APB1LFZ1", 0x3C, "TIM2:0 TIM3:1 TIM4:2 TIM5:3 TIM6:4 TIM7:5 TIM12:6 TIM13:7 TIM14:8 LPTIM1:9 I2C1:21 "
                 "I2C2:22 I2C3:23"),
        Register("APB2FZ1", 0x4C, "TIM1:0 TIM8:1 TIM15:16 TIM16:17 TIM17:18"),
        Register("APB4FZ1", 0x54, "I2C4:7 LPTIM2:9 LPTIM3:10 RTC:16 IWDG:18"),
    )  # fmt: skip


class SysCfg(Block):
    """SYSCFG, without the interrupt routing of GPIO pins."""

    REGISTERS = (
        Register("PMCR", 0x04, "I2C1FMP:0 I2C2FMP:1 I2C3FMP:2 I2C4FMP:3 PB6FMP:4 PB7FMP:5 PB8FMP:6 PB9FMP:7 BOOSTEN:8 "
                 "BOOSTVDDSEL:9 PA0SO:24 PA1SO:25 PC2SO:26 PC3SO:27"),
        *(Register(f"EXTICR{i}", 0x04 + 4 * i, "EXTI:0-15/x") for i in range(1, 5)),
        Register("CFGR", 0x18, "CM7L:6 FLASHL:7 PVDL:8 SRDRAML:9 ITCML:10 DTCML:11 AHBRAM2L:12 AHBRAM1L:13 AXIRAM3L:14 "
                 "AXIRAM2L:15 AXIRAM1L:16 BKRAML:17 CDBGL:18"),
        Register("CCCSR", 0x20, "EN:0 CS:1 READY:8/r HSLV0:16 HSLV1:17 HSLV2:18 HSLV3:19"),
        Register("CCVR", 0x24, "NCV:0-3/r PCV:4-7/r"),
        Register("CCCR", 0x28, "NCC:0-3 PCC:4-7"),
    )  # fmt: skip
