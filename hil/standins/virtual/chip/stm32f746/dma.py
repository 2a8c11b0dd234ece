"""DMA2 and USART1 of STM32F746: the channel in SxCR selects the request of a stream (RM0385, DMA2 request mapping)."""

from __future__ import annotations

from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.registers import Register
from hil.standins.virtual.chip.stm32 import dma
from hil.standins.virtual.chip.stm32 import usart_registers as u
from hil.standins.virtual.chip.stm32.chip import USART1
from hil.standins.virtual.chip.stm32.dma import DmaRequest
from hil.standins.virtual.chip.stm32.usart import DmaUsart

IRQS = (56, 57, 58, 59, 60, 68, 69, 70)
_RX, _TX = DmaRequest("USART1_RX", USART1 + 0x24, False), DmaRequest("USART1_TX", USART1 + 0x28, True)
_REQUESTS = {(2, 4): _RX, (5, 4): _RX, (7, 4): _TX}


class Dma2(dma.Stm32Dma):
    """DMA2, whose SxCR has CHSEL and no TRBUFF."""

    REGISTERS = dma.registers("CHSEL:25-27")


def request(stream: int, control: int) -> DmaRequest:
    """Return the request that is connected to a stream with the channel in its SxCR.

    Raises:
        ModelFault: the model has no such request.
    """
    channel = control >> 25 & 7
    if (stream, channel) not in _REQUESTS:
        raise ModelFault(f"DMA2_S{stream}CR.EN is set with channel {channel}, for which the model has no request")
    return _REQUESTS[stream, channel]


_OTHERS = {register.name: register for register in u.REGISTERS}

_REGISTERS = (
    Register("CR1", 0x00, "UE:0 RE:2 TE:3 IDLEIE:4 RXNEIE:5 TCIE:6 TXEIE:7 PEIE:8 PS:9 PCE:10/x WAKE:11 M0:12 MME:13/x "
             "CMIE:14/x OVER8:15 DEDT:16-20 DEAT:21-25 RTOIE:26 EOBIE:27/x M1:28"),
    Register("CR2", 0x04, "ADDM7:4 LBDL:5 LBDIE:6/x LBCL:8 CPHA:9 CPOL:10 CLKEN:11/x STOP:12-13 LINEN:14/x SWAP:15/x "
             "RXINV:16/x TXINV:17/x DATAINV:18/x MSBFIRST:19/x ABREN:20/x ABRMOD:21-22 RTOEN:23 ADD:24-31"),
    Register("CR3", 0x08, "EIE:0 IREN:1/x IRLP:2 HDSEL:3/x NACK:4 SCEN:5/x DMAR:6 DMAT:7 RTSE:8/x CTSE:9/x CTSIE:10/x "
             "ONEBIT:11 OVRDIS:12 DDRE:13/x DEM:14/x DEP:15 SCARCNT:17-19"),
    *(_OTHERS[name] for name in ("BRR", "GTPR", "RTOR", "RQR")),
    Register("ISR", 0x1C, "PE:0/r FE:1/r NE:2/r ORE:3/r IDLE:4/r RXNE:5/r TC:6/r TXE:7/r LBDF:8/r CTSIF:9/r CTS:10/r "
             "RTOF:11/r EOBF:12/r ABRE:14/r ABRF:15/r BUSY:16/r CMF:17/r SBKF:18/r RWU:19/r TEACK:21/r", 0xC0),
    Register("ICR", 0x20, "PECF:0/w FECF:1/w NECF:2/w ORECF:3/w IDLECF:4/w TCCF:6/w LBDCF:8/w CTSCF:9/w RTOCF:11/w "
             "EOBCF:12/w CMCF:17/w"),
    *(_OTHERS[name] for name in ("RDR", "TDR")),
)  # fmt: skip


class PlainUsart(DmaUsart):
    """USART without FIFO, prescaler and REACK."""

    REGISTERS = _REGISTERS

    def _status(self) -> int:
        return super()._status() & ~u.REACK

    def _prescaler(self) -> int:
        return 1

    def _set_thresholds(self) -> None:
        self._rx_threshold = self._tx_threshold = 0  # there is no FIFO
