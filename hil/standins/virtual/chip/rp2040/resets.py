"""Names of the bits of RESETS (RP2040 data sheet, 2.14.3) and PSM (2.13.5)."""

from __future__ import annotations

NAMES = (
    "ADC", "BUSCTRL", "DMA", "I2C0", "I2C1", "IO_BANK0", "IO_QSPI", "JTAG", "PADS_BANK0", "PADS_QSPI", "PIO0", "PIO1",
    "PLL_SYS", "PLL_USB", "PWM", "RTC", "SPI0", "SPI1", "SYSCFG", "SYSINFO", "TBMAN", "TIMER", "UART0", "UART1",
    "USBCTRL",
)  # fmt: skip
STAGES = (
    "ROSC", "XOSC", "CLOCKS", "RESETS", "BUSFABRIC", "ROM", "SRAM0", "SRAM1", "SRAM2", "SRAM3", "SRAM4", "SRAM5", "XIP",
    "VREG_AND_CHIP_RESET", "SIO", "PROC0", "PROC1",
)  # fmt: skip
