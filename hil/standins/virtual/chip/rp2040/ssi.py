"""The SSI, the RP2040's interface to its flash (data sheet, 4.10), and the execute-in-place cache (2.6.3).

Serial frames are exchanged with the flash in virtual time. The execute-in-place window is not simulated frame by frame:
it is open while SSI and flash are set up for the same read command. `closed_reason` gives the reason if it is closed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from hil.standins.virtual.chip.clock import PS_PER_S, Clock
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.registers import Block, Register
from hil.standins.virtual.chip.w25q import FAST_HZ, READ_HZ, W25Q

FIFO = 16
STANDARD, QUAD = 0, 2
EEPROM_READ = 3
_LEVEL = "LEVEL:0-7"
_INTERRUPTS = "TXE:0{0} TXO:1{0} RXU:2{0} RXO:3{0} RXF:4{0} MST:5{0}"


class Ssi(Block):
    """The synchronous serial interface to the flash.

    Args:
        clock: virtual time.
        sys_hz: returns clk_sys in Hz; SCK is divided from it.
        flash: the flash chip.
        changed: called when the window may have opened or closed.
    """

    SIZES: tuple[int, ...] = (1, 2, 4)
    REGISTERS = (
        Register("CTRLR0", 0x00, "DFS:0-3 FRF:4-5/x SCPH:6 SCPOL:7 TMOD:8-9 SLV_OE:10/x SRL:11/x CFS:12-15 "
                 "DFS_32:16-20 SPI_FRF:21-22 SSTE:24"),
        Register("CTRLR1", 0x04, "NDF:0-15"), Register("SSIENR", 0x08, "SSI_EN:0"),
        Register("MWCR", 0x0C, "MWMOD:0/x MDD:1/x MHS:2/x"),
        Register("SER", 0x10, "SER:0"), Register("BAUDR", 0x14, "SCKDV:0-15"),
        Register("TXFTLR", 0x18, _LEVEL), Register("RXFTLR", 0x1C, _LEVEL),
        Register("TXFLR", 0x20, _LEVEL + "/r"), Register("RXFLR", 0x24, _LEVEL + "/r"),
        Register("SR", 0x28, "BUSY:0/r TFNF:1/r TFE:2/r RFNE:3/r RFF:4/r TXE:5/r DCOL:6/r"),
        Register("IMR", 0x2C, _INTERRUPTS.format("")), Register("ISR", 0x30, _INTERRUPTS.format("/r")),
        Register("RISR", 0x34, _INTERRUPTS.format("/r")),
        *(Register(name, 0x38 + 4 * i, "VALUE:0/r")
          for i, name in enumerate(("TXOICR", "RXOICR", "RXUICR", "MSTICR", "ICR"))),
        Register("DMACR", 0x4C, "RDMAE:0/x TDMAE:1/x"), Register("DMATDLR", 0x50, _LEVEL),
        Register("DMARDLR", 0x54, _LEVEL),
        Register("IDR", 0x58, "VALUE:0-31/r", 0x51535049), Register("SSI_VERSION_ID", 0x5C, "VALUE:0-31/r", 0x3430312A),
        Register("DR0", 0x60, "DR:0-31/w"),
        Register("RX_SAMPLE_DLY", 0xF0, "RSD:0-7"),
        Register("SPI_CTRLR0", 0xF4, "TRANS_TYPE:0-1 ADDR_L:2-5 INST_L:8-9 WAIT_CYCLES:11-15 SPI_DDR_EN:16/x "
                 "INST_DDR_EN:17/x SPI_RXDS_EN:18/x XIP_CMD:24-31", 0x03000000),
        Register("TXD_DRIVE_EDGE", 0xF8, "TDE:0-7"),
    )  # fmt: skip

    def __init__(self, clock: Clock, sys_hz: Callable[[], int], flash: W25Q, changed: Callable[[], None]) -> None:
        super().__init__("SSI", 0x18000000)
        self._clock = clock
        self._sys_hz = sys_hz
        self._flash = flash
        self._changed = changed
        self.on_write(
            "CTRLR0", "CTRLR1", "BAUDR", "SPI_CTRLR0", "RX_SAMPLE_DLY",
            held=lambda: "the SSI is enabled; clear SSIENR first" if self.value["SSIENR"] else "",
        )  # fmt: skip
        self.on_write("SER", then=changed)
        self._forget()

    def _forget(self) -> None:
        self._received: deque[tuple[int, int]] = deque()  # (virtual time, word)
        self._command: list[int] = []  # instruction and address of a dual or quad frame
        self._free_at = 0

    def reset(self) -> None:
        super().reset()
        self._forget()

    def set_serial(self) -> None:
        """Set the state after the boot ROM: enabled, frames of eight bits, both directions, no window."""
        self._forget()
        self.value.update(CTRLR0=7 << 16, CTRLR1=0, BAUDR=6, SER=1, SSIENR=1)
        self._changed()

    def set_read_command(self) -> None:
        """Set the state after the boot ROM's flash_enter_cmd_xip: the window reads with command 03h, slowly."""
        self._forget()
        self.value.update(CTRLR0=31 << 16 | EEPROM_READ << 8, CTRLR1=0, BAUDR=6, SER=1, SSIENR=1)
        self.value["SPI_CTRLR0"] = 0x03 << 24 | 2 << 8 | 6 << 2
        self._changed()

    # the window

    def closed_reason(self) -> str | None:
        """Return why the window cannot be read now, or None if it can."""
        if not self.value["SSIENR"] or not self.value["SER"]:
            return "the SSI is disabled or selects no flash"
        if self.field("CTRLR0", "TMOD") != EEPROM_READ or self.field("CTRLR0", "DFS_32") != 31 or self.value["CTRLR1"]:
            return "SSI_CTRLR0 does not describe reads of 32 bits after an address (TMOD 3, DFS_32 31, NDF 0)"
        command = self.field("SPI_CTRLR0", "XIP_CMD")
        shape = tuple(self.field("SPI_CTRLR0", name) for name in ("INST_L", "ADDR_L", "WAIT_CYCLES", "TRANS_TYPE"))
        limit = FAST_HZ
        if self.field("CTRLR0", "SPI_FRF") == STANDARD:
            if shape[:3] not in ((2, 6, 0), (2, 6, 8)) or command != {0: 0x03, 8: 0x0B}[shape[2]]:
                return "SSI_SPI_CTRLR0 describes neither read command 03h nor 0Bh"
            if self._flash.continuous:
                return "the flash is in continuous read mode and takes no command"
            limit = READ_HZ if command == 0x03 else FAST_HZ
        elif self.field("CTRLR0", "SPI_FRF") == QUAD:
            if shape != (0, 8, 4, 2) or command & 0x30 != 0x20:
                return "SSI_SPI_CTRLR0 does not describe quad reads in continuous read mode (EBh with mode bits)"
            if not self._flash.continuous:
                return "the flash is not in continuous read mode; send EBh with mode bits first"
        else:
            return "SSI_CTRLR0.SPI_FRF describes frames that this model does not have"
        divider = self.value["BAUDR"]
        if divider < 2 or divider % 2 or self._sys_hz() > limit * divider:
            return f"SCK = {self._sys_hz()} Hz / {divider} (SSI_BAUDR); it must be even and give at most {limit} Hz"
        return None

    def write_ssienr(self, old: int, new: int, _acting: int) -> None:
        self.value["SSIENR"] = new
        if old and not new:
            self._flash.deselect()
            self._forget()
        self._changed()

    # serial frames

    def _settle(self) -> None:
        if self._clock.now >= self._free_at:
            self._flash.deselect()  # the SSI releases chip select when its FIFO is empty (4.10.5)

    def write_dr0(self, _old: int, _new: int, acting: int) -> None:
        if not self.value["SSIENR"]:
            raise ModelFault("SSI_DR0 is written while the SSI is disabled")
        divider = self.value["BAUDR"]
        if divider < 2 or divider % 2:
            raise ModelFault(f"SSI_BAUDR is {divider}: the divider must be even and at least 2")
        self._settle()
        now = self._clock.now
        if self.field("CTRLR0", "SPI_FRF") == STANDARD:
            bits = self.field("CTRLR0", "DFS_32") + 1
            if bits != 8:
                raise ModelFault(f"a serial frame of {bits} bits goes to the flash, not a byte (SSI_CTRLR0.DFS_32 = 7)")
            self._free_at = max(now, self._free_at) + 8 * divider * PS_PER_S // self._sys_hz()
            if len(self._received) >= FIFO:
                raise ModelFault("the receive FIFO of the SSI overflows; read SSI_DR0 between the frames")
            self._received.append((self._free_at, self._flash.exchange(acting & 0xFF, self._free_at)))
            return
        self._command.append(acting)
        self._free_at = max(now, self._free_at) + 8 * divider * PS_PER_S // self._sys_hz()
        instruction = self.field("SPI_CTRLR0", "INST_L")
        if len(self._command) < (2 if instruction else 1):
            return
        address = self._command.pop()
        self._flash.read_many(self._command.pop() if instruction else None, address & 0xFF)
        self._received.append((self._free_at, 0))
        self._changed()

    def read_dr0(self, _value: int) -> int:
        if not self._received or self._received[0][0] > self._clock.now:
            raise ModelFault("SSI_DR0 is read while the FIFO is empty; wait for SSI_SR.RFNE", self.base + 0x60, "read")
        return self._received.popleft()[1]

    def read_sr(self, _value: int) -> int:
        self._settle()
        now = self._clock.now
        busy = now < self._free_at
        return busy | 1 << 1 | (not busy) << 2 | bool(self._received and self._received[0][0] <= now) << 3

    def read_rxflr(self, _value: int) -> int:
        return sum(at <= self._clock.now for at, _ in self._received)


class XipControl(Block):
    """XIP_CTRL: control of the cache, which is always coherent here and always hits."""

    SIZES: tuple[int, ...] = (1, 2, 4)
    REGISTERS = (
        Register("CTRL", 0x00, "EN:0 ERR_BADWRITE:1 POWER_DOWN:3", 3),
        Register("FLUSH", 0x04, "FLUSH:0/w"),
        Register("STAT", 0x08, "FLUSH_READY:0/r FIFO_EMPTY:1/r FIFO_FULL:2/r", 3),
        Register("CTR_HIT", 0x0C, "COUNT:0-31/c"), Register("CTR_ACC", 0x10, "COUNT:0-31/c"),
        Register("STREAM_ADDR", 0x14, "ADDR:2-31/x"), Register("STREAM_CTR", 0x18, "CTR:0-21/x"),
        Register("STREAM_FIFO", 0x1C, "FIFO:0-31/r"),
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__("XIP", 0x14000000)
