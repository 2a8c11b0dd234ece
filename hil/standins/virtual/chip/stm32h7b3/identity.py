"""Identification and system configuration of STM32H7A3/7B3: DBGMCU, SYSCFG (RM0455, chapters of these names)."""

from __future__ import annotations

from hil.standins.virtual.chip.registers import Block, Register

DEV_ID = 0x480  # STM32H7A3/7B3 and 7B0
REV_ID = 0x1007


class Stm32H7b3DbgMcu(Block):
    """Debug support. The same registers answer on the system bus and in the core's private space.

    Only power-on resets it.
    """

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
