"""DMA2 of STM32F746: the channel in SxCR selects the request of a stream (RM0385, DMA2 request mapping)."""

from __future__ import annotations

from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.stm32 import dma
from hil.standins.virtual.chip.stm32.dma import DmaRequest

USART1 = 0x40011000
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
