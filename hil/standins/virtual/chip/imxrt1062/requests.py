"""The two DMA requests of a peripheral, and the channels that serve them (IMXRT1060RM, DMAMUX)."""

from __future__ import annotations

from dataclasses import dataclass

from hil.standins.virtual.chip.imxrt1062.edma import DmaMux, Edma


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
