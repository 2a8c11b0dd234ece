"""SIO of the RP2350: pins and spinlocks (data sheet, 3.1), and its banks of pins and pads (9.11)."""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.registers import Register
from hil.standins.virtual.chip.rp2.pins import PAD, PINS, IoBank, Pads, SioPins, gpio_registers

STATUS = "OUTTOPAD:9/r OETOPAD:13/r INFROMPAD:17/r IRQTOPROC:26/r"
CTRL = "FUNCSEL:0-4 OUTOVER:12-13/x OEOVER:14-15/x INOVER:16-17/x IRQOVER:28-29/x"
LATCHED_PAD = f"{PAD} ISO:8"
BANK0_PADS = (*((f"GPIO{i}", 0x116) for i in range(48)), ("SWCLK", 0x5A), ("SWD", 0x5A))
QSPI_PINS = ("USBPHY_DP", "USBPHY_DM", *(f"GPIO_QSPI_{pin}" for pin in ("SCLK", "SS", "SD0", "SD1", "SD2", "SD3")))
QSPI_PADS = tuple(
    (f"GPIO_QSPI_{pin}", reset)
    for pin, reset in (("SCLK", 0x156), ("SD0", 0x156), ("SD1", 0x156), ("SD2", 0x15A), ("SD3", 0x15A), ("SS", 0x15A))
)
_LOCKS = 32


class Rp2350Sio(SioPins):
    """The single-cycle IO block of core 0, in the Secure state. Not modelled: doorbells, MTIME, TMDS, interpolators."""

    REGISTERS = (
        Register("CPUID", 0x00, "CPUID:0-31/r"),
        Register("GPIO_IN", 0x04, f"PINS:0-{PINS - 1}/r"),
        # CSn and SD are pulled up, SCK down (IO_QSPI); USB is not connected.
        Register("GPIO_HI_IN", 0x08, "GPIO:0-15/r USB_DP:24/r USB_DM:25/r QSPI_SCK:26/r QSPI_CSN:27/r QSPI_SD:28-31/r",
                 0xF8000000),
        *gpio_registers(8),
        Register("FIFO_ST", 0x50, "VLD:0/r RDY:1/r WOF:2/c ROE:3/c", 2),
        Register("FIFO_WR", 0x54, "FIFO:0-31/x"), Register("FIFO_RD", 0x58, "FIFO:0-31/r"),
        Register("SPINLOCK_ST", 0x5C, "LOCKS:0-31/r"),
        *(Register(f"SPINLOCK{i}", 0x100 + 4 * i, "LOCK:0-31/w") for i in range(_LOCKS)),
    )  # fmt: skip

    def __init__(self, bank: IoBank, pads: Pads, on_edge: Callable[[int, int], None]) -> None:
        super().__init__(bank, pads, on_edge)
        for i in range(_LOCKS):
            self._readers[f"SPINLOCK{i}"] = lambda _value, i=i: self._claim(i)
            self._writers[f"SPINLOCK{i}"] = lambda _old, _new, _acting, i=i: self._release(i)

    def _claim(self, lock: int) -> int:
        """Return the lock's bit if it was free, and take it; 0 if it is taken (3.1.4)."""
        taken = self.value["SPINLOCK_ST"] >> lock & 1
        self.value["SPINLOCK_ST"] |= 1 << lock
        return 0 if taken else 1 << lock

    def _release(self, lock: int) -> None:
        self.value["SPINLOCK_ST"] &= ~(1 << lock)
