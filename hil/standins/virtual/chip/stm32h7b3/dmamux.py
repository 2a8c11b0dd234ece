"""DMA1 and DMAMUX1 of STM32H7A3/7B3: the channel of the multiplexer selects the request of a stream.

Source: RM0455, DMAMUX; DMA registers. Synchronisation and the request generators are not modelled.
"""

from __future__ import annotations

from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.registers import Block, Register
from hil.standins.virtual.chip.stm32 import dma
from hil.standins.virtual.chip.stm32.chip import USART1
from hil.standins.virtual.chip.stm32.dma import DmaRequest

DMA1_IRQS = (11, 12, 13, 14, 15, 16, 17, 47)
CHANNELS, GENERATORS = 16, 8
# RM0455, DMAMUX1: assignment of multiplexer inputs to resources.
_REQUESTS = {41: DmaRequest("USART1_RX", USART1 + 0x24, False), 42: DmaRequest("USART1_TX", USART1 + 0x28, True)}
_CHANNEL = "DMAREQ_ID:0-6 SOIE:8/x EGE:9/x SE:16/x SPOL:17-18/x NBREQ:19-23/x SYNC_ID:24-26/x"
_GENERATOR = "SIG_ID:0-2/x OIE:8/x GE:16/x GPOL:17-18/x GNBREQ:19-23/x"
_TRBUFF = 1 << 20


class Dmamux1(Block):
    """The request multiplexer. Channels 0 to 7 belong to the streams of DMA1, 8 to 15 to those of DMA2."""

    REGISTERS = (
        *(Register(f"C{i}CR", 4 * i, _CHANNEL) for i in range(CHANNELS)),
        Register("CSR", 0x80, "SOF:0-15/r"), Register("CFR", 0x84, "CSOF:0-15/w"),
        *(Register(f"RG{i}CR", 0x100 + 4 * i, _GENERATOR) for i in range(GENERATORS)),
        Register("RGSR", 0x140, "OF:0-7/r"), Register("RGCFR", 0x144, "COF:0-7/w"),
    )  # fmt: skip

    def request(self, stream: int, control: int) -> DmaRequest:
        """Return the request that is connected to a stream of DMA1 whose SxCR is `control`.

        Raises:
            ModelFault: the model has no such request, or the errata forbid the settings of the stream.
        """
        number = self.field(f"C{stream}CR", "DMAREQ_ID")
        if number not in _REQUESTS:
            raise ModelFault(
                f"DMA1_S{stream}CR.EN is set with DMAMUX1_C{stream}CR.DMAREQ_ID = {number}, "
                "for which the model has no request"
            )
        # ES0478 (errata of STM32H7A3/7B3), DMA: a stream may be locked if it moves bytes of a USART without bufferable
        # transfers.
        if not control & _TRBUFF:
            raise ModelFault(
                f"DMA1_S{stream}CR.TRBUFF is 0 with {_REQUESTS[number].name}: the stream may be locked (errata); set it"
            )
        return _REQUESTS[number]


class Dma1(dma.Stm32Dma):
    """DMA1, whose SxCR has TRBUFF (bufferable transfers) and no channel."""

    REGISTERS = dma.registers("TRBUFF:20")
