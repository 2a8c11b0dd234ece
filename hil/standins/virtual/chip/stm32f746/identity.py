"""Identification of STM32F746: DBGMCU, unique id, flash size, ROM table; and the watchdog for flash algorithms."""

from __future__ import annotations

import numpy as np

from hil.standins.virtual.chip.debug import Rom
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.registers import Block, Register

DEV_ID, REV_ID = 0x449, 0x1001  # RM0385, DBGMCU_IDCODE: STM32F74x and STM32F75x
# RM0385, device electronic signature; the flash size is in the upper half-word.
SYSTEM_PAGE, UNIQUE_ID, FLASH_SIZE = 0x1FF0F400, 0x20, 0x40
ROM_TABLE = 0xE00FD000


class Stm32F746DbgMcu(Block):
    """Debug support (RM0385, debug MCU configuration). Only power-on resets it."""

    REGISTERS = (
        Register("IDCODE", 0x00, "DEV_ID:0-11/r REV_ID:16-31/r", REV_ID << 16 | DEV_ID),
        Register("CR", 0x04, "DBG_SLEEP:0 DBG_STOP:1 DBG_STANDBY:2 TRACE_IOEN:5/x TRACE_MODE:6-7/x"),
        Register("APB1_FZ", 0x08, "TIM2:0 TIM3:1 TIM4:2 TIM5:3 TIM6:4 TIM7:5 TIM12:6 TIM13:7 TIM14:8 WWDG:11 IWDG:12 "
                 "I2C1:21 I2C2:22 I2C3:23 CAN1:25 CAN2:26"),
        Register("APB2_FZ", 0x0C, "TIM1:0 TIM8:1 TIM9:16 TIM10:17 TIM11:18"),
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__("DBGMCU", 0xE0042000)


class Iwdg(Block):
    """The independent watchdog, which can be fed but not started (RM0385, IWDG)."""

    REGISTERS = (
        Register("KR", 0x00, "KEY:0-15/w"), Register("PR", 0x04, "PR:0-2/x"), Register("RLR", 0x08, "RL:0-11/x", 0xFFF),
        Register("SR", 0x0C, "PVU:0/r RVU:1/r WVU:2/r"), Register("WINR", 0x10, "WIN:0-11/x", 0xFFF),
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__("IWDG", 0x40003000)

    def write_kr(self, _old: int, _new: int, key: int) -> None:
        if key != 0xAAAA:
            raise ModelFault(f"IWDG_KR is written with 0x{key:04X}; this model has no running watchdog")


def signature(rng: np.random.Generator, flash_bytes: int) -> Rom:
    """Return the page with a random unique id of 96 bits and the size of the flash in KB."""
    words = {UNIQUE_ID + i: int(rng.integers(0, 1 << 32)) for i in (0, 4, 8)}
    return Rom("device signature", SYSTEM_PAGE, words | {FLASH_SIZE: flash_bytes // 1024 << 16})


def rom_table() -> Rom:
    """Return the chip's ROM table, which lists that of the processor (STMicroelectronics, JEP106 0x20, part 0x449)."""
    ids = {
        0xFE0: DEV_ID & 0xFF, 0xFE4: DEV_ID >> 8, 0xFE8: 0x20 >> 4 | 8, 0xFEC: 0, 0xFD0: 0, 0xFF0: 0x0D, 0xFF4: 0x10,
        0xFF8: 0x05, 0xFFC: 0xB1,
    }  # fmt: skip
    return Rom("chip ROM table", ROM_TABLE, {0: 0x00001003} | ids)
