"""Names of the bits of RESETS (RP2350 data sheet, 7.5.3) and PSM (7.4.4)."""

from __future__ import annotations

NAMES = (
    "ADC", "BUSCTRL", "DMA", "HSTX", "I2C0", "I2C1", "IO_BANK0", "IO_QSPI", "JTAG", "PADS_BANK0", "PADS_QSPI", "PIO0",
    "PIO1", "PIO2", "PLL_SYS", "PLL_USB", "PWM", "SHA256", "SPI0", "SPI1", "SYSCFG", "SYSINFO", "TBMAN", "TIMER0",
    "TIMER1", "TRNG", "UART0", "UART1", "USBCTRL",
)  # fmt: skip
STAGES = (
    "PROC_COLD", "OTP", "ROSC", "XOSC", "RESETS", "CLOCKS", "PSM_READY", "BUSFABRIC", "ROM", "BOOTRAM",
    *(f"SRAM{i}" for i in range(10)), "XIP", "SIO", "ACCESSCTRL", "PROC0", "PROC1",
)  # fmt: skip
