"""eDMA and DMAMUX of i.MX RT1062, for channels that move one byte for each request (IMXRT1060RM, eDMA and DMAMUX).

Not modelled are links between channels, scatter and gather, minor loops of more than a byte, modulo addresses and
transfers started by software. A channel that uses one of them faults at its first request.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.imxrt1062.edma_registers import CHANNELS, MUX_REGISTERS, REGISTERS, UNDEFINED
from hil.standins.virtual.chip.registers import WORD, Block

INTMAJOR, INTHALF, DREQ, DONE = 2, 4, 8, 0x80
_ALL, _NOTHING = 0x40, 0x80
ENABLED = 1 << 31


class DmaMemory(Protocol):
    """Memory that the channels access."""

    def dma_read(self, address: int, size: int) -> bytes: ...

    def dma_write(self, address: int, data: bytes) -> None: ...


class DmaMux(Block):
    """Request multiplexer: the channel of each request.

    Args:
        changed: called when the channel of a request may have changed.
    """

    REGISTERS = MUX_REGISTERS

    def __init__(self, changed: Callable[[], None]) -> None:
        super().__init__("DMAMUX", 0x400EC000)
        self._changed = changed

    def write(self, offset: int, size: int, value: int) -> None:
        super().write(offset, size, value)
        self._changed()

    def channel(self, source: int) -> int | None:
        """Return the channel of a request, or None."""
        return next((n for n in range(CHANNELS) if self.value[f"CHCFG{n}"] == ENABLED | source), None)


class Edma(Block):
    """The 32 channels.

    Args:
        memory: memory that the channels access.
        drive: called with (channel, level) when the interrupt of a channel changes.
        changed: called when a channel may have started or stopped to take requests.
    """

    SIZES = (1, 2, 4)
    REGISTERS = REGISTERS

    def __init__(self, memory: DmaMemory, drive: Callable[[int, bool], None], changed: Callable[[], None]) -> None:
        super().__init__("DMA0", 0x400E8000)
        self._memory = memory
        self._drive = drive
        self._changed = changed
        self.on_write("ERQ", then=changed)

    def reset(self) -> None:
        interrupts = self.value["INT"]
        super().reset()
        self.value.update(UNDEFINED)
        for channel in range(CHANNELS):
            if interrupts >> channel & 1:
                self._drive(channel, False)

    def enabled(self, channel: int) -> bool:
        """Return whether a channel takes requests."""
        return self.clocked and bool(self.value["ERQ"] >> channel & 1)

    # registers

    def write(self, offset: int, size: int, value: int) -> None:
        if 0x18 <= offset < 0x20:
            self._command(offset, size, value)
            return
        super().write(offset, size, value)

    def _command(self, offset: int, size: int, value: int) -> None:
        """Write a byte register that sets or clears a bit of one channel or of all channels."""
        register = self._register(offset, size, "write")
        if size != 1 or value & 0x20:
            raise self._fault(register, "write", f"{size} bytes, 0x{value:X}: write one byte, a channel of 0 to 31")
        if value & _NOTHING:
            return
        bits = WORD if value & _ALL else 1 << (value & 0x1F)
        name, on = (("EEI", False), ("EEI", True), ("ERQ", False), ("ERQ", True), ("DONE", False), ("START", True),
                    ("ERR", False), ("INT", False))[offset - 0x18]  # fmt: skip
        if name in ("EEI", "START"):
            raise self._fault(register, "write", "the model has no error interrupts and no transfers by software")
        if name == "INT":
            self._clear(bits)
        elif name == "DONE":
            for channel in range(CHANNELS):
                if bits >> channel & 1:
                    self.value[f"TCD{channel}_CSR_BITER"] &= ~DONE
        else:
            self.value[name] = self.value[name] | bits if on else self.value[name] & ~bits
        self._changed()

    def write_int(self, old: int, new: int, _acting: int) -> None:
        self._clear(old & ~new)

    def _clear(self, bits: int) -> None:
        lowered = self.value["INT"] & bits
        self.value["INT"] &= ~bits
        for channel in range(CHANNELS) if lowered else ():
            if lowered >> channel & 1:
                self._drive(channel, False)

    # transfers

    def left(self, channel: int) -> int:
        """Return the number of bytes of a channel's major loop that are not moved yet."""
        return self.value[f"TCD{channel}_DOFF_CITER"] >> 16

    def until_interrupt(self, channel: int) -> int | None:
        """Return the number of bytes until the next interrupt of a channel, or None if there will be none."""
        control, left = self.value[f"TCD{channel}_CSR_BITER"], self.left(channel)
        half = (control >> 16) // 2
        if control & INTHALF and left > half:
            return left - half
        return left if control & INTMAJOR else None

    def _check(self, channel: int, steps: tuple[int, int], peripheral: tuple[str, int]) -> None:
        value = self.value
        source, destination = value[f"TCD{channel}_SOFF_ATTR"] & 0xFFFF, value[f"TCD{channel}_DOFF_CITER"] & 0xFFFF
        side, address = peripheral
        control = value[f"TCD{channel}_CSR_BITER"]
        wrong = (
            value[f"TCD{channel}_SOFF_ATTR"] >> 16 or value[f"TCD{channel}_NBYTES"] != 1
            or (source, destination) != steps or value[f"TCD{channel}_{side}"] != address or control & 0xFF31
            or not 0 < self.left(channel) <= control >> 16 < 1 << 15
        )  # fmt: skip
        if wrong:
            raise ModelFault(
                f"the descriptor of DMA channel {channel} is not one of bytes to or from 0x{address:08X}, "
                "the form this model has"
            )

    def receive(self, channel: int, data: bytes, address: int) -> int:
        """Move bytes from a peripheral's data register to memory; return the number of moved bytes."""
        taken = 0
        while taken < len(data) and self.enabled(channel):
            self._check(channel, (0, 1), ("SADDR", address))
            count = min(len(data) - taken, self.until_interrupt(channel) or self.left(channel))
            self._memory.dma_write(self.value[f"TCD{channel}_DADDR"], data[taken : taken + count])
            self._advance(channel, "DADDR", "DLASTSGA", count)
            taken += count
        return taken

    def fetch(self, channel: int, address: int) -> int | None:
        """Move a byte from memory to a peripheral's data register.

        Returns:
            The byte, or None if the channel takes no requests.
        """
        if not self.enabled(channel):
            return None
        self._check(channel, (1, 0), ("DADDR", address))
        byte = self._memory.dma_read(self.value[f"TCD{channel}_SADDR"], 1)[0]
        self._advance(channel, "SADDR", "SLAST", 1)
        return byte

    def _advance(self, channel: int, place: str, last: str, count: int) -> None:
        control = self.value[f"TCD{channel}_CSR_BITER"] & ~DONE
        whole, left = control >> 16, self.left(channel) - count
        address = self.value[f"TCD{channel}_{place}"] + count
        interrupts = control & INTHALF if left == whole // 2 else 0
        if left == 0:
            interrupts |= control & INTMAJOR
            control |= DONE
            left, address = whole, address + self.value[f"TCD{channel}_{last}"]
            if control & DREQ:
                self.value["ERQ"] &= ~(1 << channel)
        self.value[f"TCD{channel}_CSR_BITER"] = control
        self.value[f"TCD{channel}_{place}"] = address & WORD
        self.value[f"TCD{channel}_DOFF_CITER"] = self.value[f"TCD{channel}_DOFF_CITER"] & 0xFFFF | left << 16
        if interrupts:
            self.value["INT"] |= 1 << channel
            self._drive(channel, True)


@dataclass(frozen=True)
class EdmaRequests:
    """The receive and transmit DMA requests of one peripheral.

    Attributes:
        dma, mux: eDMA and DMAMUX of the chip.
        incoming, outgoing: numbers of the peripheral's receive and transmit requests.
    """

    dma: Edma
    mux: DmaMux
    incoming: int
    outgoing: int

    def _channel(self, source: int) -> int | None:
        channel = self.mux.channel(source) if self.mux.clocked else None
        return channel if channel is not None and self.dma.enabled(channel) else None

    def receive(self, data: bytes, address: int) -> int:
        """Offer received bytes from the data register at an address; return the number of bytes that were moved."""
        channel = self._channel(self.incoming)
        return 0 if channel is None else self.dma.receive(channel, data, address)

    def until_interrupt(self) -> int | None:
        """Return the number of received bytes until the channel interrupts, or None if there will be no interrupt."""
        channel = self._channel(self.incoming)
        return None if channel is None else self.dma.until_interrupt(channel)

    def fetch(self, address: int) -> int | None:
        """Return a byte to send through the data register at an address, or None."""
        channel = self._channel(self.outgoing)
        return None if channel is None else self.dma.fetch(channel, address)

    def left(self) -> int:
        """Return the number of bytes that are still to be fetched, 0 if no channel serves the request."""
        channel = self._channel(self.outgoing)
        return 0 if channel is None else self.dma.left(channel)
