"""ACCESSCTRL of the RP2350: who may access what (data sheet, 10.6).

After reset, Secure code on core 0 and the debugger may access everything. Locks, and rights of the Non-secure state and
of core 1, are registers without effect; to take a right from Secure code on core 0 is not modelled.
"""

from __future__ import annotations

from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.registers import Block, Register

PASSWORD = 0xACCE
_RIGHTS = "NSU:0 NSP:1 SU:2 SP:3/x CORE0:4/x CORE1:5 DMA:6 DBG:7"
_RESETS = (
    *((name, 0xFF) for name in ("ROM", "XIP_MAIN", *(f"SRAM{i}" for i in range(10)))),
    *((name, 0xFC) for name in ("DMA", "USBCTRL", "PIO0", "PIO1", "PIO2")),
    ("CORESIGHT_TRACE", 0xB8), ("CORESIGHT_PERIPH", 0xB8), ("SYSINFO", 0xFF),
    *((name, 0xFC) for name in (
        "RESETS", "IO_BANK0", "IO_BANK1", "PADS_BANK0", "PADS_QSPI", "BUSCTRL", "ADC0", "HSTX", "I2C0", "I2C1", "PWM",
        "SPI0", "SPI1", "TIMER0", "TIMER1", "UART0", "UART1", "OTP", "TBMAN",
    )),
    ("POWMAN", 0xB8), ("TRNG", 0xB8), ("SHA256", 0xF8),
    *((name, 0xB8) for name in (
        "SYSCFG", "CLOCKS", "XOSC", "ROSC", "PLL_SYS", "PLL_USB", "TICKS", "WATCHDOG", "RSM", "XIP_CTRL", "XIP_QMI",
    )),
    ("XIP_AUX", 0xF8),
)  # fmt: skip


class AccessControl(Block):
    """The access control registers. A write without the password in its high half is a bus error (10.6.2)."""

    SIZES = (1, 2, 4)
    REGISTERS = (
        Register("LOCK", 0x00, "CORE0:0 CORE1:1 DMA:2/r DEBUG:3", 4),
        Register("FORCE_CORE_NS", 0x04, "CORE1:1"), Register("CFGRESET", 0x08, "CFGRESET:0/w"),
        Register("GPIO_NSMASK0", 0x0C, "PINS:0-31"), Register("GPIO_NSMASK1", 0x10, "PINS:0-15 OTHERS:24-31"),
        *(Register(name, 0x14 + 4 * i, _RIGHTS, reset) for i, (name, reset) in enumerate(_RESETS)),
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__("ACCESSCTRL", 0x40060000)

    def write(self, offset: int, size: int, value: int) -> None:
        if offset not in (0x0C, 0x10):
            if size != 4 or value >> 16 != PASSWORD:
                address = self.base + offset
                raise ModelFault(f"write of ACCESSCTRL 0x{address:08X}: no 0xACCE in bits 31:16", address, "write")
            value &= 0xFFFF
        super().write(offset, size, value)

    def write_lock(self, old: int, new: int, _acting: int) -> None:
        self.value["LOCK"] = old | new

    def write_cfgreset(self, _old: int, _new: int, acting: int) -> None:
        if acting:
            for register in self.REGISTERS[3:]:
                self.value[register.name] = register.reset
