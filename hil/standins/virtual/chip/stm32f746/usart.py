"""A USART of STM32F746: that of STM32H7 without FIFO, prescaler and wake-up from Stop, and with DMA (RM0385, USART)."""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip import usart_registers as u
from hil.standins.virtual.chip.clock import Clock
from hil.standins.virtual.chip.registers import Register
from hil.standins.virtual.chip.stm32f746.dma import Stream
from hil.standins.virtual.chip.usart import Usart

DMAR, DMAT = 1 << 6, 1 << 7
_OTHERS = {register.name: register for register in u.REGISTERS}

REGISTERS = (
    Register("CR1", 0x00, "UE:0 RE:2 TE:3 IDLEIE:4 RXNEIE:5 TCIE:6 TXEIE:7 PEIE:8 PS:9 PCE:10/x WAKE:11 M0:12 MME:13/x CMIE:14/x "
             "OVER8:15 DEDT:16-20 DEAT:21-25 RTOIE:26 EOBIE:27/x M1:28"),
    Register("CR2", 0x04, "ADDM7:4 LBDL:5 LBDIE:6/x LBCL:8 CPHA:9 CPOL:10 CLKEN:11/x STOP:12-13 LINEN:14/x SWAP:15/x RXINV:16/x "
             "TXINV:17/x DATAINV:18/x MSBFIRST:19/x ABREN:20/x ABRMOD:21-22 RTOEN:23 ADD:24-31"),
    Register("CR3", 0x08, "EIE:0 IREN:1/x IRLP:2 HDSEL:3/x NACK:4 SCEN:5/x DMAR:6 DMAT:7 RTSE:8/x CTSE:9/x CTSIE:10/x ONEBIT:11 "
             "OVRDIS:12 DDRE:13/x DEM:14/x DEP:15 SCARCNT:17-19"),
    *(_OTHERS[name] for name in ("BRR", "GTPR", "RTOR", "RQR")),
    Register("ISR", 0x1C, "PE:0/r FE:1/r NE:2/r ORE:3/r IDLE:4/r RXNE:5/r TC:6/r TXE:7/r LBDF:8/r CTSIF:9/r CTS:10/r RTOF:11/r "
             "EOBF:12/r ABRE:14/r ABRF:15/r BUSY:16/r CMF:17/r SBKF:18/r RWU:19/r TEACK:21/r", 0xC0),
    Register("ICR", 0x20, "PECF:0/w FECF:1/w NECF:2/w ORECF:3/w IDLECF:4/w TCCF:6/w LBDCF:8/w CTSCF:9/w RTOCF:11/w EOBCF:12/w CMCF:17/w"),
    *(_OTHERS[name] for name in ("RDR", "TDR")),
)  # fmt: skip


class DmaUsart(Usart):
    """Args:
        name, base, clock, kernel_hz, connected, drive, send: as for Usart.
        stream: returns the DMA stream that serves `NAME_RX` or `NAME_TX` now and has bytes left, or None.
    """

    REGISTERS = REGISTERS

    def __init__(
        self, name: str, base: int, clock: Clock, kernel_hz: Callable[[], int], connected: Callable[[], tuple[bool, bool]],
        drive: Callable[[bool], None], send: Callable[[int], None], stream: Callable[[str], Stream | None],
    ) -> None:  # fmt: skip
        self._stream = stream
        super().__init__(name, base, clock, kernel_hz, connected, drive, send)

    def serve(self) -> None:
        """Let the DMA take what was received and give what can be sent."""
        receiver = self._receiver()
        while receiver is not None and self._received and receiver.left:
            receiver.put(bytes([self._received.popleft()]))
        self._fill()
        self._refresh()

    def _receiver(self) -> Stream | None:
        return self._stream(f"{self.name}_RX") if self.value["CR3"] & DMAR else None

    def _sender(self) -> Stream | None:
        ready = self.value["CR3"] & DMAT and self.value["CR1"] & (u.UE | u.TE) == u.UE | u.TE
        return self._stream(f"{self.name}_TX") if ready else None

    def _fill(self) -> None:
        sender = self._sender()
        while sender is not None and sender.left and not self._queued:
            self._give(sender.get())

    # what the lines do

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
        # One byte waits behind the one that leaves; the DMA gives another whenever that has moved on.
        return min(len(self._queued) + sender.left, sender.until_interrupt() - 1)

    # registers

    def write_cr1(self, old: int, new: int, acting: int) -> None:
        super().write_cr1(old, new, acting)
        self.serve()

    def write_cr3(self, old: int, new: int, acting: int) -> None:
        super().write_cr3(old, new, acting)
        self.serve()

    def _status(self) -> int:
        return super()._status() & ~u.REACK

    def _prescaler(self) -> int:
        return 1

    def _set_thresholds(self) -> None:
        self._rx_threshold = self._tx_threshold = 0  # there is no FIFO
