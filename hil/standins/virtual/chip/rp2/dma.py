"""DMA of RP2040 and RP2350, for channels that move a UART's received bytes to memory (data sheets, 2.5 and 12.6).

All registers are modelled. A channel moves one byte for each request, with or without a ring. Not modelled are wider
transfers, transfers from memory to memory or to a peripheral, chains, pacing timers, the sniffer, and bus errors. The
start of such a channel faults, and so does the start of a second channel for the same request (2.5.3.2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.memories import MemoryMap
from hil.standins.virtual.chip.registers import WORD, Register
from hil.standins.virtual.chip.rp2.apb import ApbBlock

# Registers in the four words of a channel and of its three aliases. The last word of each starts the channel (2.5.2.1).
ORDERS = (
    ("READ_ADDR", "WRITE_ADDR", "TRANS_COUNT", "CTRL"), ("CTRL", "READ_ADDR", "WRITE_ADDR", "TRANS_COUNT"),
    ("CTRL", "TRANS_COUNT", "READ_ADDR", "WRITE_ADDR"), ("CTRL", "WRITE_ADDR", "TRANS_COUNT", "READ_ADDR"),
)  # fmt: skip
WORDS = tuple(name for order in ORDERS for name in order)
CHANNEL_BYTES = 4 * len(WORDS)


def channel_registers(n: int, counter: str, control: str) -> tuple[Register, ...]:
    """Return the registers of channel n, given the field lists of TRANS_COUNT and CTRL."""
    at, debug = CHANNEL_BYTES * n, 0x800 + 0x40 * n
    fields = {
        "READ_ADDR": "READ_ADDR:0-31", "WRITE_ADDR": "WRITE_ADDR:0-31", "TRANS_COUNT": counter, "CTRL": control,
    }  # fmt: skip
    return (
        *(Register(f"CH{n}_{name}", at + 4 * i, fields[name]) for i, name in enumerate(ORDERS[0])),
        Register(f"CH{n}_DBG_CTDREQ", debug, "DBG_CTDREQ:0-5/c"),
        Register(f"CH{n}_DBG_TCR", debug + 4, "DBG_TCR:0-31/r"),
    )


def shared_registers(channels: int, lines: int) -> tuple[Register, ...]:
    """Return the registers from INTR to N_CHANNELS, given the numbers of channels and of interrupt lines."""
    after = 0x400 + 0x10 * lines
    return (
        Register("INTR", 0x400, "INTR:0-15/c"),
        *(
            Register(f"{name}{line}", 0x404 + 0x10 * line + 4 * i, fields)
            for line in range(lines)
            for i, (name, fields) in enumerate((("INTE", "E:0-15"), ("INTF", "F:0-15"), ("INTS", "S:0-15/c")))
        ),
        *(Register(f"TIMER{i}", after + 4 * i, "Y:0-15/x X:16-31/x") for i in range(4)),
        Register("MULTI_CHAN_TRIGGER", after + 0x10, "CHANNELS:0-15/w"),
        Register("SNIFF_CTRL", after + 0x14, "EN:0/x DMACH:1-4/x CALC:5-8/x BSWAP:9/x OUT_REV:10/x OUT_INV:11/x"),
        Register("SNIFF_DATA", after + 0x18, "SNIFF_DATA:0-31/x"),
        Register("FIFO_LEVELS", after + 0x20, "TDF_LVL:0-7/r WAF_LVL:8-15/r RAF_LVL:16-23/r"),
        Register("CHAN_ABORT", after + 0x24, "CHANNELS:0-15/w"),
        Register("N_CHANNELS", after + 0x28, "N_CHANNELS:0-4/r", channels),
    )


@dataclass(frozen=True)
class ReceiveRequest:
    """Receive request of a peripheral.

    Args:
        name: name as in the table of requests (2.5.3.1).
        address: address of the data register.
        offer: called when a channel starts to serve the request; received bytes may already be in the FIFO.
    """

    name: str
    address: int
    offer: Callable[[], None]


class RpDma(ApbBlock):
    """The channels; a chip's subclass has their number, that of the interrupt lines, and the registers.

    Args:
        memory: memories of the chip; the channels can write the writable ones.
        sources: modelled requests by their number in TREQ_SEL.
        drive: called with (0 or 1, level) when an interrupt line changes.
        sync: updates the peripherals to the present before a register access.
    """

    CHANNELS = 0
    LINES = 0

    def __init__(
        self, memory: MemoryMap, sources: dict[int, ReceiveRequest], drive: Callable[[int, bool], None],
        sync: Callable[[], None],
    ) -> None:  # fmt: skip
        super().__init__("DMA", 0x50000000)
        self._memory, self._sources = memory, sources
        self._drive, self._sync = drive, sync
        self._left: dict[int, int] = {}  # remaining transfers of busy channels
        self._high = [False] * self.LINES
        self._en, self._step_read, self._step_write, self._ring_sel, self._quiet, busy = (
            self.mask("CH0_CTRL", name) for name in ("EN", "INCR_READ", "INCR_WRITE", "RING_SEL", "IRQ_QUIET", "BUSY")
        )
        for n in range(self.CHANNELS):
            self._readers[f"CH{n}_CTRL"] = lambda value, n=n: value | (busy if n in self._left else 0)
            self._readers[f"CH{n}_TRANS_COUNT"] = lambda _value, n=n: self._left.get(n, 0)
            self._readers[f"CH{n}_DBG_TCR"] = lambda _value, n=n: self.value[f"CH{n}_TRANS_COUNT"]
            for name in ("READ_ADDR", "WRITE_ADDR", "CTRL"):
                self._writers[f"CH{n}_{name}"] = lambda old, new, _acting, n=n, name=name: self._set_up(
                    n, name, old, new
                )
        for line in range(self.LINES):
            self._readers[f"INTS{line}"] = lambda _value, line=line: self._status(line)
            self._writers[f"INTS{line}"] = lambda _old, _new, _acting: None  # `write` clears INTR
            self.on_write(f"INTE{line}", f"INTF{line}", then=self._refresh)

    def reset(self) -> None:
        super().reset()
        self._left.clear()
        self._refresh()

    # interface to the peripherals

    def receive(self, request: int, data: bytes) -> int:
        """Move bytes from a peripheral to memory; return the number of moved bytes."""
        taken = 0
        channel = self._serving(request)
        while channel is not None and taken < len(data):
            taken += self._store(channel, data[taken:])
            channel = self._serving(request)
        return taken

    def left(self, request: int) -> int:
        """Return the number of remaining transfers for a request, or 0 if no channel serves it."""
        channel = self._serving(request)
        return 0 if channel is None else self._left[channel]

    def until_interrupt(self, request: int) -> int | None:
        """Return the number of bytes until the channel that serves a request interrupts, or None if it will not."""
        channel = self._serving(request)
        if (
            channel is None
            or self._control(channel) & self._quiet
            or not any(self.value[f"INTE{line}"] >> channel & 1 for line in range(self.LINES))
        ):
            return None
        return self._left[channel]

    def _serving(self, request: int) -> int | None:
        return next((n for n in self._left if self._request(n) == request and self._control(n) & self._en), None)

    def _control(self, channel: int) -> int:
        return self.value[f"CH{channel}_CTRL"]

    def _request(self, channel: int) -> int:
        return self.field(f"CH{channel}_CTRL", "TREQ_SEL")

    def _store(self, channel: int, data: bytes) -> int:
        """Write bytes up to the end of the ring or of the transfer; return the number of written bytes."""
        start, ring = self.value[f"CH{channel}_WRITE_ADDR"], self._ring(channel)
        room = ring - start % ring if ring else WORD
        count = min(len(data), self._left[channel], room)
        self._memory.store(start, data[:count])
        self.value[f"CH{channel}_WRITE_ADDR"] = start + count - (ring if count == room else 0)
        self._left[channel] -= count
        if not self._left[channel]:
            del self._left[channel]
            if not self._control(channel) & self._quiet:
                self._raise(channel)
        return count

    def _ring(self, channel: int) -> int:
        """Return the size of a channel's ring in bytes, or 0 if its addresses do not wrap."""
        size = self.field(f"CH{channel}_CTRL", "RING_SIZE")
        return 1 << size if size else 0

    # starting

    def _start(self, channel: int) -> None:
        """Handle a trigger, which has no effect while the channel is off or busy (2.5.2.2)."""
        control = self._control(channel)
        if not control & self._en or channel in self._left:
            return
        where, source = f"DMA channel {channel} is started", self._sources.get(self._request(channel))
        if source is None:
            raise ModelFault(f"{where} by request {self._request(channel)}, which this model does not have")
        if self._serving(self._request(channel)) is not None:
            raise ModelFault(f"{where} for {source.name}, which another channel serves already")
        steps, ring = control & (self._step_read | self._step_write), self._ring(channel)
        if (
            self.value[f"CH{channel}_READ_ADDR"] != source.address
            or steps != self._step_write
            or self.field(f"CH{channel}_CTRL", "DATA_SIZE")
        ):
            raise ModelFault(f"{where} for {source.name}, but not to move bytes from 0x{source.address:08X} to memory")
        if self.field(f"CH{channel}_CTRL", "CHAIN_TO") != channel or (ring and not control & self._ring_sel):
            raise ModelFault(f"{where} with a chain to another channel or a ring of the register: not modelled")
        self._left[channel] = self._count(channel, ring, where)
        source.offer()

    def _count(self, channel: int, ring: int, where: str) -> int:
        """Return the number of transfers of a channel; raise ModelFault if it is 0 or there is no memory for them."""
        start, count = self.value[f"CH{channel}_WRITE_ADDR"], self.value[f"CH{channel}_TRANS_COUNT"]
        first = start - start % ring if ring else start
        place = self._memory.find(first, ring or count)
        if not count or place is None or not place[0].writable:
            raise ModelFault(f"{where} for {count} bytes at 0x{start:08X}, where the chip has no memory", start)
        return count

    # interrupts

    def _raise(self, channel: int) -> None:
        self.value["INTR"] |= 1 << channel
        self._refresh()

    def _status(self, line: int) -> int:
        return self.value["INTR"] & self.value[f"INTE{line}"] | self.value[f"INTF{line}"]

    def _refresh(self) -> None:
        for line in range(self.LINES):
            high = bool(self._status(line))
            if high != self._high[line]:
                self._high[line] = high
                self._drive(line, high)

    # registers

    def _register(self, offset: int, size: int, access: str) -> Register:
        return super()._register(self._plain(offset), size, access)

    def read(self, offset: int, size: int) -> int:
        self._sync()
        return super().read(self._plain(offset), size)

    def write(self, offset: int, size: int, value: int) -> None:
        self._sync()
        super().write(self._plain(offset), size, value)
        self._written(offset, value)

    def change(self, offset: int, operation: Callable[[int, int], int], bits: int) -> None:
        self._sync()
        super().change(self._plain(offset), operation, bits)
        self._written(offset, bits)

    def _written(self, offset: int, value: int) -> None:
        """Do the effects of a write to a register other than its new value."""
        if offset < self.CHANNELS * CHANNEL_BYTES:
            if offset % 16 == 12:
                self._trigger(offset // CHANNEL_BYTES, value)
        elif offset in (0x400, *(0x40C + 0x10 * line for line in range(self.LINES))):  # INTR, INTS0, INTS1 ...
            self.value["INTR"] &= ~value
            self._refresh()

    def _trigger(self, channel: int, value: int) -> None:
        if value:
            self._start(channel)
        elif self._control(channel) & self._quiet:  # a null trigger
            self._raise(channel)

    def _set_up(self, channel: int, name: str, old: int, new: int) -> None:
        if channel in self._left and (old ^ new) & ~(self._en if name == "CTRL" else 0):
            raise ModelFault(f"DMA_CH{channel}_{name} changes while the channel is busy; abort it or wait for its end")
        self.value[f"CH{channel}_{name}"] = new
        if channel in self._left and name == "CTRL" and new & ~old & self._en:  # it was paused
            self._sources[self._request(channel)].offer()

    def write_multi_chan_trigger(self, _old: int, _new: int, acting: int) -> None:
        for channel in range(self.CHANNELS):
            if acting >> channel & 1:
                self._start(channel)

    def write_chan_abort(self, _old: int, _new: int, acting: int) -> None:
        for channel in range(self.CHANNELS):
            if acting >> channel & 1:
                self._left.pop(channel, None)

    def _plain(self, offset: int) -> int:
        """Return the plain offset of a register of a channel, given the offset of any of its aliases."""
        if offset >= self.CHANNELS * CHANNEL_BYTES:
            return offset
        channel, word = offset // CHANNEL_BYTES, offset % CHANNEL_BYTES // 4
        return channel * CHANNEL_BYTES + 4 * ORDERS[0].index(WORDS[word]) + offset % 4
