"""UARTE: a UART with EasyDMA to and from RAM (Product Specification, UARTE), in virtual time.

Bytes without a gap between them are received together: their events have the first time, the last time and the count.
Flow control, parity, two stop bits and the legacy UART at the same addresses are not modelled.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from hil.standins.virtual.chip.clock import PS_PER_S, Clock
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.memories import MemoryMap
from hil.standins.virtual.chip.nrf52840 import uarte_registers as u
from hil.standins.virtual.chip.nrf52840.events import EventBlock, Fire, Times
from hil.standins.virtual.chip.nrf52840.pins import Pins

FIFO = 4  # bytes stored while the receiver is stopped or between two buffers
TOLERANCE = 0.03  # relative error of the baud rate with which the stop bit is still sampled inside it, 9.5 bits later
RAM_BASE, RAM_SIZE = 0x20000000, 0x40000
BASE = 0x40002000


@dataclass(frozen=True)
class UarteWiring:
    """What the chip connects to its UARTE.

    Attributes:
        memory: memory that EasyDMA reads and writes.
        pins: pins of the chip by their number in PSEL.
        crystal: returns whether the clock comes from the crystal; the RC oscillator is too inaccurate for a line.
        send: called with each byte after its stop bit.
        line_baud: baud rate of the other end of the line.
    """

    memory: MemoryMap
    pins: Pins
    crystal: Callable[[], bool]
    send: Callable[[int], None]
    line_baud: int


class Uarte(EventBlock):
    """UARTE0, a UART with EasyDMA.

    Args:
        clock: virtual time.
        wiring: what the chip connects to it.
        drive, fire, now: see EventBlock.
    """

    REGISTERS = u.REGISTERS
    SHORTS_TO = (("ENDRX_STARTRX", "ENDRX", "STARTRX"), ("ENDRX_STOPRX", "ENDRX", "STOPRX"))

    def __init__(
        self, clock: Clock, wiring: UarteWiring, drive: Callable[[bool], None], fire: Fire, now: Callable[[], int]
    ) -> None:
        super().__init__("UARTE0", BASE, drive, fire, now)
        self._clock = clock
        self._memory = wiring.memory
        self._pins = wiring.pins
        self._crystal = wiring.crystal
        self._send = wiring.send
        self._line_byte_ps = 10 * PS_PER_S // wiring.line_baud
        self._line_baud = wiring.line_baud
        self._incoming: deque[int] = deque()
        self._rx_end = 0  # time at which the first incoming byte is complete
        self._forget()

    def _forget(self) -> None:
        self._receiving = False
        self._stopped_at: int | None = None
        self._fifo: list[int] = []
        self._rx_at = self._rx_left = self._rx_count = 0  # next address, room and bytes so far of the present buffer
        self._tx: bytes | None = None
        self._tx_at = 0
        self._tx_end = self._tx_byte_ps = 0

    def reset(self) -> None:
        super().reset()
        self._forget()

    # the line

    def feed(self, data: bytes) -> None:
        """Put bytes on the receive line, after those that are not received yet."""
        if data and not self._incoming:
            self._rx_end = max(self._clock.now, self._rx_end) + self._line_byte_ps
        self._incoming.extend(data)

    @property
    def backlog(self) -> int:
        """Number of bytes on the receive line that are not received yet."""
        return len(self._incoming)

    @property
    def transmitting(self) -> bool:
        """Whether bytes are being sent, so that more output follows."""
        return self._tx is not None

    @property
    def stream_end(self) -> int:
        """Time at which the last incoming byte is complete; 0 if there is none or the receiver is off."""
        return (
            self._rx_end + (len(self._incoming) - 1) * self._line_byte_ps if self._incoming and self._receiving else 0
        )

    def damage(self) -> None:
        """Receive a character with a wrong stop bit."""
        self._fail(u.FRAMING, Times.once(self._clock.now))

    def update(self, now: int) -> None:
        """Update both directions to the time `now`."""
        while self._incoming and now >= self._rx_end:
            self._receive(now)
        if self._stopped_at is not None and now >= self._stopped_at:
            at, self._stopped_at = self._stopped_at, None
            self.emit("RXTO", Times.once(at))
        if self._tx is not None and now >= self._tx_end:
            self._finish_sending(Times.once(self._tx_end))

    def next_event(self) -> int | None:
        """Return the virtual time of the next event that software or the other end can notice, or None."""
        times = [self._stopped_at] if self._stopped_at is not None else []
        if self._incoming and self._receiving:
            one = 1 if self.enabled("RXDRDY") else min(len(self._incoming), self._rx_left)
            times.append(self._rx_end + (max(one, 1) - 1) * self._line_byte_ps)
        if self._tx is not None:
            times.append(self._tx_end)
        return min(times, default=None)

    # receiving

    def _receive(self, now: int) -> None:
        """Receive bytes that are complete by `now`, at most as many as fit into the present buffer."""
        complete = min(len(self._incoming), (now - self._rx_end) // self._line_byte_ps + 1)
        count = min(complete, self._rx_left or 1)
        data = bytes(self._incoming.popleft() for _ in range(count))
        times = Times(self._rx_end, self._rx_end + (count - 1) * self._line_byte_ps, count)
        self._rx_end = times.last + (self._line_byte_ps if self._incoming else 0)
        ending = self._stopped_at is not None and times.first <= self._stopped_at
        if (self._receiving or ending) and self._pins.listens(self.value["PSEL_RXD"]):
            self._check_speed()
            self.emit("RXDRDY", times)
            self._store(data, times)

    def _store(self, data: bytes, times: Times) -> None:
        if self._rx_left:
            self._memory.store(self._rx_at, data)
            self._rx_at += len(data)
            self._rx_left -= len(data)
            self._rx_count += len(data)
            if not self._rx_left:
                self._end_buffer(Times.once(times.last))
        elif len(self._fifo) < FIFO:
            self._fifo += data
        else:
            self._fail(u.OVERRUN, times)

    def _end_buffer(self, times: Times) -> None:
        self.value["RXD_AMOUNT"] = self._rx_count
        self._rx_left = self._rx_count = 0
        self.emit("ENDRX", times)

    def _fail(self, source: int, times: Times) -> None:
        self.value["ERRORSRC"] |= source
        self.emit("ERROR", times)

    def task_startrx(self, times: Times) -> None:
        self._ready("STARTRX", "RXD")
        if self._rx_left:
            raise ModelFault(f"{self.name}_TASKS_STARTRX is triggered while the receiver fills a buffer; stop it first")
        self._receiving = True
        self._rx_at, self._rx_left = self._buffer("RXD")
        self.emit("RXSTARTED", times)
        waiting, self._fifo = self._fifo, []
        if waiting:
            self._store(bytes(waiting), times)

    def task_stoprx(self, times: Times) -> None:
        if self._receiving:
            self._receiving = False
            if self._rx_left:
                self._end_buffer(times)
            self._stopped_at = times.last + FIFO * self._line_byte_ps

    def task_flushrx(self, times: Times) -> None:
        if self._receiving or self._stopped_at is not None:
            raise ModelFault(f"{self.name}_TASKS_FLUSHRX is triggered before RXTO; stop the receiver and wait")
        self._rx_at, self._rx_left = self._buffer("RXD")
        waiting, self._fifo = self._fifo, []
        self._memory.store(self._rx_at, bytes(waiting))
        self._rx_count = len(waiting)
        self._end_buffer(times)

    # sending

    def task_starttx(self, times: Times) -> None:
        self._ready("STARTTX", "TXD")
        if self._tx is not None:
            raise ModelFault(f"{self.name}_TASKS_STARTTX is triggered before ENDTX of the bytes before")
        self._check_speed()
        self._tx_at, count = self._buffer("TXD")
        self._tx = self._memory.peek(self._tx_at, count)
        self._tx_byte_ps = 10 * PS_PER_S // u.BAUD[self.value["BAUDRATE"]]
        self._tx_end = times.last + count * self._tx_byte_ps
        self.emit("TXSTARTED", times)

    def _finish_sending(self, times: Times) -> None:
        data, self._tx = self._tx or b"", None
        if self._memory.peek(self._tx_at, len(data)) != data:
            raise ModelFault(f"buffer of {self.name} at 0x{self._tx_at:08X} has changed while it was sent; await ENDTX")
        self.value["TXD_AMOUNT"] = len(data)
        if self._pins.drives(self.value["PSEL_TXD"]):
            for byte in data:
                self._send(byte)
        if data:
            self.emit("TXDRDY", times)
        self.emit("ENDTX", times)

    def task_stoptx(self, times: Times) -> None:
        if self._tx is not None:
            raise ModelFault(f"{self.name}_TASKS_STOPTX is triggered while bytes are sent, which is not modelled")
        self.emit("TXSTOPPED", times)

    # both directions

    def _ready(self, name: str, pointer: str) -> None:
        if self.value["ENABLE"] != u.ENABLED:
            raise ModelFault(f"{self.name}_TASKS_{name} is triggered while the UARTE is off; set ENABLE to 8")
        if not self._crystal():
            raise ModelFault(
                f"{self.name}_TASKS_{name} is triggered while HFCLK comes from the RC oscillator; "
                "start the crystal first"
            )
        if self.value[f"PSEL_{pointer}"] & u.DISCONNECTED:
            raise ModelFault(f"{self.name}_TASKS_{name} is triggered while PSEL.{pointer} selects no pin")

    def _buffer(self, which: str) -> tuple[int, int]:
        """Return address and size of a buffer; raise ModelFault if EasyDMA cannot access it."""
        address, size = self.value[f"{which}_PTR"], self.value[f"{which}_MAXCNT"]
        if not RAM_BASE <= address <= address + size <= RAM_BASE + RAM_SIZE:
            raise ModelFault(
                f"{self.name}_{which}.PTR is 0x{address:08X} for {size} bytes: EasyDMA can only access the RAM"
            )
        return address, size

    def _check_speed(self) -> None:
        baud = u.BAUD[self.value["BAUDRATE"]]
        if abs(baud / self._line_baud - 1) > TOLERANCE:
            raise ModelFault(f"{self.name} runs at {baud} baud, the line at {self._line_baud}: bytes would be damaged")

    # registers

    def write_baudrate(self, _old: int, new: int, _acting: int) -> None:
        if new not in u.BAUD:
            raise ModelFault(f"{self.name}_BAUDRATE is written with 0x{new:08X}, not in the Product Specification")
        self.value["BAUDRATE"] = new

    def write_enable(self, _old: int, new: int, _acting: int) -> None:
        if new not in (u.DISABLED, u.ENABLED):
            raise ModelFault(f"{self.name}_ENABLE is written with {new}: 8 is on, 4 (the UART) is not modelled")
        if new:
            self._check_pins()
        elif self._receiving or self._tx is not None or self._stopped_at is not None:
            raise ModelFault(f"{self.name}_ENABLE is cleared with bytes under way; stop and wait for RXTO and ENDTX")
        self.value["ENABLE"] = new

    def _check_pins(self) -> None:
        """Check that the pins in PSEL are set up before the UARTE is enabled (UARTE: pin configuration)."""
        rx, tx = self.value["PSEL_RXD"], self.value["PSEL_TXD"]
        if not rx & u.DISCONNECTED and not self._pins.listens(rx):
            raise ModelFault(f"{self.name}_ENABLE is set while the pin of PSEL.RXD is not an input; set PIN_CNF first")
        if not tx & u.DISCONNECTED and not self._pins.drives(tx):
            raise ModelFault(
                f"{self.name}_ENABLE is set while the pin of PSEL.TXD is not an output that is high; "
                "set OUT and PIN_CNF first"
            )

    def _select(self, name: str, new: int) -> None:
        if self.value["ENABLE"]:
            raise ModelFault(f"{self.name}_{name} changes while the UARTE is on; clear ENABLE first")
        self.value[name] = new

    def write_psel_rxd(self, _old: int, new: int, _acting: int) -> None:
        self._select("PSEL_RXD", new)

    def write_psel_txd(self, _old: int, new: int, _acting: int) -> None:
        self._select("PSEL_TXD", new)
