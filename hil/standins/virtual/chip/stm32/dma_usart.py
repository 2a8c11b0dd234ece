"""USART of STM32 with DMA requests (RM0455, USART: continuous communication using DMA)."""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.clock import Clock
from hil.standins.virtual.chip.stm32 import usart_registers as u
from hil.standins.virtual.chip.stm32.dma import DmaStream
from hil.standins.virtual.chip.stm32.usart import Usart
from hil.standins.virtual.chip.stm32.usart_line import FIFO
from hil.standins.virtual.chip.uart_wiring import UartWiring

DMAR, DMAT = 1 << 6, 1 << 7


class DmaUsart(Usart):
    """A USART with DMA requests.

    Args:
        name, base, clock, wiring: see Usart.
        stream: returns the DMA stream that serves `NAME_RX` or `NAME_TX` and has bytes left, or None.
    """

    def __init__(
        self, name: str, base: int, clock: Clock, wiring: UartWiring, stream: Callable[[str], DmaStream | None]
    ) -> None:
        self._stream = stream
        super().__init__(name, base, clock, wiring)

    def serve(self) -> None:
        """Move received bytes and bytes to send by the DMA."""
        receiver = self._receiver()
        while receiver is not None and self._received and receiver.left:
            receiver.put(bytes([self._received.popleft()]))
        self._fill()
        self._refresh()

    def _receiver(self) -> DmaStream | None:
        return self._stream(f"{self.name}_RX") if self.value["CR3"] & DMAR else None

    def _sender(self) -> DmaStream | None:
        ready = self.value["CR3"] & DMAT and self.value["CR1"] & (u.UE | u.TE) == u.UE | u.TE
        return self._stream(f"{self.name}_TX") if ready else None

    def _fill(self) -> None:
        sender = self._sender()
        room = FIFO if self.value["CR1"] & u.FIFOEN else 1
        while sender is not None and sender.left and len(self._queued) < room:
            self._give(sender.get())

    # the lines

    def _take(self, arrived: bytes) -> None:
        receiver = self._receiver()
        taken = receiver.put(arrived) if receiver is not None else 0
        if taken < len(arrived):
            super()._take(arrived[taken:])

    def _shift_out(self) -> None:
        super()._shift_out()
        self._fill()

    def _bytes_until_interrupt(self) -> int:
        receiver = self._receiver()
        wanted = super()._bytes_until_interrupt()
        return wanted if receiver is None else min(wanted, receiver.until_interrupt())

    def _bytes_until_sent(self) -> int:
        sender = self._sender()
        if sender is None:
            return super()._bytes_until_sent()
        # The queue is full while a byte is sent; the DMA writes another byte whenever one moves to the shift register.
        return min(len(self._queued) + sender.left, sender.until_interrupt() - 1)

    # registers

    def write_cr1(self, old: int, new: int, acting: int) -> None:
        super().write_cr1(old, new, acting)
        self.serve()

    def write_cr3(self, old: int, new: int, acting: int) -> None:
        super().write_cr3(old, new, acting)
        self.serve()
