"""A peripheral's two requests for DMA, from the multiplexer to the channels that serve them (IMXRT1060RM, DMAMUX)."""

from __future__ import annotations

from dataclasses import dataclass

from hil.standins.virtual.chip.imxrt1062.edma import DmaMux, Edma


@dataclass(frozen=True)
class Requests:
    """The receive and transmit DMA requests of one peripheral.

    Attributes:
        dma, mux: of the chip.
        incoming, outgoing: the numbers of the peripheral's requests.
    """

    dma: Edma
    mux: DmaMux
    incoming: int
    outgoing: int

    def _channel(self, source: int) -> int | None:
        channel = self.mux.channel(source) if self.mux.clocked else None
        return channel if channel is not None and self.dma.enabled(channel) else None

    def receive(self, data: bytes, address: int) -> int:
        """Offer received bytes from the data register at an address; return how many were taken."""
        channel = self._channel(self.incoming)
        return 0 if channel is None else self.dma.receive(channel, data, address)

    def until_interrupt(self) -> int | None:
        """Return how many more received bytes make the channel interrupt, None when none will."""
        channel = self._channel(self.incoming)
        return None if channel is None else self.dma.until_interrupt(channel)

    def fetch(self, address: int) -> int | None:
        """Ask for a byte to send through the data register at an address."""
        channel = self._channel(self.outgoing)
        return None if channel is None else self.dma.fetch(channel, address)

    def left(self) -> int:
        """Return the bytes that are still to be fetched, 0 when nobody gives any."""
        channel = self._channel(self.outgoing)
        return 0 if channel is None else self.dma.left(channel)
