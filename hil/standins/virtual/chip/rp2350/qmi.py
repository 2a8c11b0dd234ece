"""QMI, the RP2350's interface to its flash (data sheet, 12.14), and the execute-in-place cache (4.4).

Direct frames are exchanged with the flash in virtual time. The execute-in-place window is not simulated frame by frame:
it is open while QMI, pads and flash are set up for the same read command. `closed_reason` gives the reason if it is
closed. Chip select 1, writes, DTR and the address translation are as after reset.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from hil.standins.virtual.chip.clock import PS_PER_S, Clock
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.registers import Block, Register
from hil.standins.virtual.chip.rp2.apb import ApbBlock
from hil.standins.virtual.chip.w25q import FAST_HZ, READ_HZ, W25Q

FIFO = 4
EN, ASSERT_CS0N, AUTO_CS0N = 1 << 0, 1 << 2, 1 << 6  # in DIRECT_CSR
SERIAL, DUAL, QUAD = 0, 1, 2
# Read commands: width of address and data, number of mode bits as SUFFIX_LEN, and of dummy bits (W25Q data sheet, 8.2).
_READS = {
    0x03: (SERIAL, SERIAL, 0, 0, READ_HZ), 0x0B: (SERIAL, SERIAL, 0, 8, FAST_HZ),
    0x6B: (SERIAL, QUAD, 0, 8, FAST_HZ), 0xBB: (DUAL, DUAL, 2, 0, FAST_HZ), 0xEB: (QUAD, QUAD, 2, 16, FAST_HZ),
}  # fmt: skip
_FORMAT = (
    "PREFIX_WIDTH:0-1 ADDR_WIDTH:2-3 SUFFIX_WIDTH:4-5 DUMMY_WIDTH:6-7 DATA_WIDTH:8-9 PREFIX_LEN:12 SUFFIX_LEN:14-15 "
    "DUMMY_LEN:16-18 DTR:28/x"
)
_UNUSED_FORMAT = (
    "PREFIX_WIDTH:0-1/x ADDR_WIDTH:2-3/x SUFFIX_WIDTH:4-5/x DUMMY_WIDTH:6-7/x DATA_WIDTH:8-9/x PREFIX_LEN:12/x "
    "SUFFIX_LEN:14-15/x DUMMY_LEN:16-18/x DTR:28/x"
)
_TIMING = (
    "CLKDIV:0-7 RXDELAY:8-10 MIN_DESELECT:12-16 MAX_SELECT:17-22 SELECT_HOLD:23-24 SELECT_SETUP:25 PAGEBREAK:28-29 "
    "COOLDOWN:30-31"
)
_COMMAND, _UNUSED_COMMAND = "PREFIX:0-7 SUFFIX:8-15", "PREFIX:0-7/x SUFFIX:8-15/x"
_WIDTHS = ("one line", "two lines", "four lines")


class Qmi(ApbBlock):
    """The interface to the flash.

    Args:
        clock: virtual time.
        sys_hz: returns clk_sys in Hz; SCK is divided from it.
        flash: the flash chip.
        connected: returns why the flash's pads are not connected, or an empty text.
        changed: called when the window may have opened or closed.
    """

    REGISTERS = (
        Register("DIRECT_CSR", 0x00, "EN:0 BUSY:1/r ASSERT_CS0N:2 ASSERT_CS1N:3/x AUTO_CS0N:6 AUTO_CS1N:7/x "
                 "TXFULL:10/r TXEMPTY:11/r TXLEVEL:12-14/r RXEMPTY:16/r RXFULL:17/r RXLEVEL:18-20/r CLKDIV:22-29 "
                 "RXDELAY:30-31", 0x01800000),
        Register("DIRECT_TX", 0x04, "DATA:0-15/w IWIDTH:16-17/w DWIDTH:18/w OE:19/w NOPUSH:20/w"),
        Register("DIRECT_RX", 0x08, "DATA:0-15/r"),
        Register("M0_TIMING", 0x0C, _TIMING, 0x40000004), Register("M0_RFMT", 0x10, _FORMAT, 0x1000),
        Register("M0_RCMD", 0x14, _COMMAND, 0xA003), Register("M0_WFMT", 0x18, _UNUSED_FORMAT, 0x1000),
        Register("M0_WCMD", 0x1C, _UNUSED_COMMAND, 0xA002),
        Register("M1_TIMING", 0x20, _TIMING, 0x40000004), Register("M1_RFMT", 0x24, _FORMAT, 0x1000),
        Register("M1_RCMD", 0x28, _COMMAND, 0xA003), Register("M1_WFMT", 0x2C, _UNUSED_FORMAT, 0x1000),
        Register("M1_WCMD", 0x30, _UNUSED_COMMAND, 0xA002),
        *(Register(f"ATRANS{i}", 0x34 + 4 * i, "BASE:0-11/x SIZE:16-26/x", 0x04000000 | i % 4 * 0x400)
          for i in range(8)),
    )  # fmt: skip

    def __init__(
        self, clock: Clock, sys_hz: Callable[[], int], flash: W25Q, connected: Callable[[], str],
        changed: Callable[[], None],
    ) -> None:  # fmt: skip
        super().__init__("QMI", 0x400D0000)
        self._clock = clock
        self._sys_hz = sys_hz
        self._flash = flash
        self._unconnected = connected
        self._changed = changed
        self.on_write("M0_TIMING", "M0_RCMD", then=changed)
        self._forget()

    def _forget(self) -> None:
        self._queued: deque[int] = deque()  # written while direct mode is off
        self._received: deque[tuple[int, int]] = deque()  # (time at which it is complete, data)
        self._ends: deque[int] = deque()  # times at which the entries that are sent end
        self._free_at = 0

    def reset(self) -> None:
        super().reset()
        self._forget()
        self._changed()

    def select_read(self, command: int, divider: int) -> None:
        """Set window 0 up for a read command, as the boot ROM does (s_varm_api_crit_flash_select_xip_read_mode)."""
        address, data, suffix, dummies, _ = _READS[command]
        wide = address << 2 | address << 4 | address << 6 | data << 8
        self.value["DIRECT_CSR"] = divider << 22
        for window in ("M0", "M1"):
            self.value[f"{window}_TIMING"] = divider | 2 << 8 | 7 << 12 | 2 << 28 | 1 << 30
            self.value[f"{window}_RFMT"] = wide | 1 << 12 | suffix << 14 | dummies // 4 << 16
            self.value[f"{window}_RCMD"] = command
        self._flash.deselect()
        self._forget()
        self._changed()

    # the window

    def closed_reason(self) -> str | None:
        """Return why the execute-in-place window does not read the flash now, or None if it does."""
        unconnected = self._unconnected()
        if unconnected:
            return unconnected
        if self.value["DIRECT_CSR"] & (EN | ASSERT_CS0N):
            return "QMI is in direct mode or holds chip select low; clear EN and ASSERT_CS0N of QMI_DIRECT_CSR"
        return self._wrong_command() or self._wrong_speed()

    def _wrong_command(self) -> str | None:
        prefix = self.field("M0_RFMT", "PREFIX_LEN")
        if self._flash.continuous == bool(prefix):
            return "QMI_M0_RFMT.PREFIX_LEN does not fit the flash's continuous read mode"
        command = self.field("M0_RCMD", "PREFIX") if prefix else 0xEB
        if command not in _READS:
            return f"QMI_M0_RCMD reads with command 0x{command:02X}, which this model does not know"
        address, data, suffix, dummies, _ = _READS[command]
        wanted = {"ADDR_WIDTH": address, "DATA_WIDTH": data, "SUFFIX_LEN": suffix, "DUMMY_LEN": dummies // 4}
        if prefix:
            wanted["PREFIX_WIDTH"] = SERIAL
        if suffix:
            wanted["SUFFIX_WIDTH"] = address
        if dummies:
            wanted["DUMMY_WIDTH"] = address
        for name, value in wanted.items():
            if self.field("M0_RFMT", name) != value:
                return f"QMI_M0_RFMT.{name} is {self.field('M0_RFMT', name)}, command 0x{command:02X} needs {value}"
        if not prefix and not self._suffix_is_continuous():
            return "QMI_M0_RCMD.SUFFIX ends the flash's continuous read mode at the first read"
        if QUAD in (address, data) and not self._flash.quad_enabled:
            return "the flash's QE bit is 0, and QMI reads on four lines"
        return None

    def _suffix_is_continuous(self) -> bool:
        """Return whether the mode bits let the flash take the next address without a command."""
        return self.field("M0_RCMD", "SUFFIX") & 0x30 == 0x20

    def write_m0_rfmt(self, _old: int, new: int, _acting: int) -> None:
        """Set the format of reads.

        A read with the command and mode bits for continuous reads changes the flash's mode. It is not seen here: it is
        taken for done when the command is then switched off.
        """
        ends_command = self.field("M0_RFMT", "PREFIX_LEN") and not new >> 12 & 1
        if ends_command and self._suffix_is_continuous() and self.closed_reason() is None:
            self._flash.continuous = True
        self.value["M0_RFMT"] = new
        self._changed()

    def _wrong_speed(self) -> str | None:
        command = self.field("M0_RCMD", "PREFIX") if self.field("M0_RFMT", "PREFIX_LEN") else 0xEB
        limit, divider = _READS[command][-1], self.field("M0_TIMING", "CLKDIV") or 256
        if self._sys_hz() > limit * divider:
            return f"SCK = {self._sys_hz()} Hz / {divider} (QMI_M0_TIMING); command 0x{command:02X} allows {limit} Hz"
        return None

    # direct mode

    def write_direct_csr(self, old: int, new: int, _acting: int) -> None:
        self._settle()
        released = old & ASSERT_CS0N and not new & ASSERT_CS0N
        if released and self._clock.now < self._free_at:
            raise ModelFault("QMI_DIRECT_CSR.ASSERT_CS0N is cleared while a frame is sent; wait for BUSY = 0")
        self.value["DIRECT_CSR"] = new
        if released:
            self._flash.deselect()
        if new & EN:
            while self._queued:
                self._exchange(self._queued.popleft())
        self._changed()

    def _settle(self) -> None:
        """Release an automatic chip select after the last frame."""
        if self.value["DIRECT_CSR"] & AUTO_CS0N and self._clock.now >= self._free_at:
            self._flash.deselect()

    def write_direct_tx(self, _old: int, _new: int, acting: int) -> None:
        if self._waiting() >= FIFO:
            raise ModelFault(
                "QMI_DIRECT_TX is written while its FIFO is full, and the data is lost; wait for TXFULL = 0"
            )
        self._settle()
        if self.value["DIRECT_CSR"] & EN:
            self._exchange(acting)
        else:
            self._queued.append(acting)

    def _waiting(self) -> int:
        """Return how many entries of the transmit FIFO are not being sent yet."""
        while self._ends and self._ends[0] <= self._clock.now:
            self._ends.popleft()
        return len(self._queued) + max(0, len(self._ends) - 1)

    def _exchange(self, entry: int) -> None:
        """Send an entry of the transmit FIFO, and receive as many bytes."""
        control = self.value["DIRECT_CSR"]
        if not control & (ASSERT_CS0N | AUTO_CS0N):
            return  # only the clock runs
        if entry >> 16 & 3:
            raise ModelFault(f"QMI sends on {_WIDTHS[entry >> 16 & 3]} in direct mode, which this model does not have")
        if len(self._received) >= FIFO:
            raise ModelFault("QMI stalls, because its receive FIFO is full; read QMI_DIRECT_RX, or set NOPUSH")
        word, count = 0, 2 if entry >> 18 & 1 else 1
        for i in range(count):
            divider = self.field("DIRECT_CSR", "CLKDIV") or 256
            self._free_at = max(self._clock.now, self._free_at) + 8 * divider * PS_PER_S // self._sys_hz()
            word |= self._flash.exchange(entry >> 8 * i & 0xFF, self._free_at) << 8 * i
        self._ends.append(self._free_at)
        if not entry >> 20 & 1:
            self._received.append((self._free_at, word))

    def read_direct_csr(self, value: int) -> int:
        self._settle()
        now = self._clock.now
        ready = sum(at <= now for at, _ in self._received)
        waiting = self._waiting()
        value |= (now < self._free_at) << 1 | (waiting >= FIFO) << 10 | (not waiting) << 11 | waiting << 12
        return value | (not ready) << 16 | (ready >= FIFO) << 17 | ready << 18

    def read_direct_rx(self, _value: int) -> int:
        if not self._received or self._received[0][0] > self._clock.now:
            raise ModelFault(
                "QMI_DIRECT_RX is read while its FIFO is empty; wait for RXEMPTY = 0", self.base + 8, "read"
            )
        return self._received.popleft()[1]


class XipControl(ApbBlock):
    """XIP_CTRL: control of the cache."""

    REGISTERS = (
        Register("CTRL", 0x00, "EN_SECURE:0 EN_NONSECURE:1 POWER_DOWN:3/x NO_UNCACHED_SEC:4/x NO_UNCACHED_NONSEC:5 "
                 "NO_UNTRANSLATED_SEC:6/x NO_UNTRANSLATED_NONSEC:7 MAINT_NONSEC:8 SPLIT_WAYS:9/x WRITABLE_M0:10/x "
                 "WRITABLE_M1:11/x", 0x83),
        Register("STAT", 0x08, "FIFO_EMPTY:1/r FIFO_FULL:2/r", 2),
        Register("CTR_HIT", 0x0C, "COUNT:0-31/c"), Register("CTR_ACC", 0x10, "COUNT:0-31/c"),
        Register("STREAM_ADDR", 0x14, "ADDR:2-31/x"), Register("STREAM_CTR", 0x18, "CTR:0-21/x"),
        Register("STREAM_FIFO", 0x1C, "FIFO:0-31/r"),
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__("XIP", 0x400C8000)


class CacheMaintenance(Block):
    """The window at 0x18000000, in which a byte written maintains the cache (4.4.1.3); reads are a bus error.

    Args:
        changed: called after a write, because the cache no longer holds old bytes.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        super().__init__("XIP maintenance", 0x18000000)
        self._written = changed

    def read(self, offset: int, _size: int) -> int:
        address = self.base + offset
        raise ModelFault(f"read of 0x{address:08X}: cache maintenance is write only", address, "read")

    def write(self, offset: int, _size: int, _value: int) -> None:
        operation = offset & 7
        if operation > 4:
            raise ModelFault(f"cache maintenance with operation {operation}", self.base + offset, "write")
        self._written()
