"""RCC of STM32H7A3/7B3: oscillators, PLLs, clock tree and clock gates (RM0455, RCC: clocks, RCC registers).

A change to a clock that the voltage
scale or the flash latency does not allow faults at once (RM0455, FLASH: recommended wait states; DS13195, general
operating conditions).
"""

from __future__ import annotations

from hil.standins.virtual.chip.clock import Clock
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.registers import Register, parse_fields
from hil.standins.virtual.chip.stm32.rcc import AHB_DIVIDERS, APB_DIVIDERS, HSE, HSI, Stm32Rcc

HSI_HZ, CSI_HZ = 64_000_000, 4_000_000
# Bits of CR that start a source.
CSI, HSI48, PLL1, PLL2, PLL3 = 7, 12, 24, 26, 28
SOURCES = (HSI, CSI, HSE, PLL1)  # by the value of SW
STARTS = {
    HSI: (2, 2_000_000), CSI: (8, 2_000_000), HSI48: (13, 4_000_000), HSE: (17, 2_000_000_000),
    PLL1: (25, 100_000_000), PLL2: (27, 100_000_000), PLL3: (29, 100_000_000),
}  # fmt: skip
_PLL_SOURCES = (HSI, CSI, HSE, None)  # by the value of PLLSRC
_PLL_INPUT = ((1_000_000, 2_000_000), (2_000_000, 4_000_000), (4_000_000, 8_000_000), (8_000_000, 16_000_000))
_AHB3 = "MDMA:0 DMA2D:4 JPGDEC:5 FMC:12 OCTOSPI1:14 SDMMC1:16 OCTOSPI2:19 OCTOSPIM:21 OTFDEC1:22 OTFDEC2:23 GFXMMU:24"
_AHB1 = "DMA1:0 DMA2:1 ADC12:5 CRC:9 USB1OTG:25"
_AHB2 = "DCMI_PSSI:0 HSEM:2 CRYP:4 HASH:5 RNG:6 SDMMC2:9 BDMA1:11"
_AHB4 = "GPIOA:0 GPIOB:1 GPIOC:2 GPIOD:3 GPIOE:4 GPIOF:5 GPIOG:6 GPIOH:7 GPIOI:8 GPIOJ:9 GPIOK:10 BDMA2:21"
_APB1L = ("TIM2:0 TIM3:1 TIM4:2 TIM5:3 TIM6:4 TIM7:5 TIM12:6 TIM13:7 TIM14:8 LPTIM1:9 SPI2:14 SPI3:15 SPDIFRX:16 "
          "USART2:17 USART3:18 UART4:19 UART5:20 I2C1:21 I2C2:22 I2C3:23 CEC:27 DAC1:29 UART7:30 UART8:31")  # fmt: skip
_APB1H = "CRS:1 SWPMI:2 OPAMP:4 MDIOS:5 FDCAN:8"
_APB2 = ("TIM1:0 TIM8:1 USART1:4 USART6:5 UART9:6 USART10:7 SPI1:12 SPI4:13 TIM15:16 TIM16:17 TIM17:18 SPI5:20 SAI1:22 "
         "SAI2:23 DFSDM1:30")  # fmt: skip
_APB4 = "SYSCFG:1 LPUART1:3 SPI6:5 I2C4:7 LPTIM2:9 LPTIM3:10 DAC2:13 COMP12:14 VREF:15 DTS:26 DFSDM2:27"
_READY_FLAGS = "LSIRDY:0 LSERDY:1 HSIRDY:2 HSERDY:3 CSIRDY:4 HSI48RDY:5 PLL1RDY:6 PLL2RDY:7 PLL3RDY:8 LSECSS:9"


def _as(fields: str, access: str) -> str:
    return " ".join(f"{field}/{access}" for field in fields.split())


def _all_on(name: str, offset: int, fields: str) -> Register:
    """Return a register of the clocks in Sleep mode: all are on after reset."""
    return Register(name, offset, fields, sum(field.mask for field in parse_fields(fields)))


_REGISTERS = (
    Register("CR", 0x00, "HSION:0 HSIKERON:1 HSIRDY:2/r HSIDIV:3-4 HSIDIVF:5/r CSION:7 CSIRDY:8/r CSIKERON:9 "
             "HSI48ON:12 HSI48RDY:13/r CPUCKRDY:14/r CDCKRDY:15/r HSEON:16 HSERDY:17/r HSEBYP:18/x HSECSSON:19/x "
             "HSEEXT:20/x PLL1ON:24 PLL1RDY:25/r PLL2ON:26 PLL2RDY:27/r PLL3ON:28 PLL3RDY:29/r", 0x00000001),
    Register("HSICFGR", 0x04, "HSICAL:0-11/r HSITRIM:24-30", 0x40000000),
    Register("CRRCR", 0x08, "HSI48CAL:0-9/r"),
    Register("CSICFGR", 0x0C, "CSICAL:0-7/r CSITRIM:24-29", 0x20000000),
    Register("CFGR", 0x10, "SW:0-2 SWS:3-5/r STOPWUCK:6 STOPKERWUCK:7 RTCPRE:8-13 TIMPRE:15 MCO1PRE:18-21 MCO1:22-24 "
             "MCO2PRE:25-28 MCO2:29-31"),
    Register("CDCFGR1", 0x18, "HPRE:0-3 CDPPRE:4-6 CDCPRE:8-11"),
    Register("CDCFGR2", 0x1C, "CDPPRE1:4-6 CDPPRE2:8-10"),
    Register("SRDCFGR", 0x20, "SRDPPRE:4-6"),
    Register("PLLCKSELR", 0x28, "PLLSRC:0-1 DIVM1:4-9 DIVM2:12-17 DIVM3:20-25", 0x02020200),
    Register("PLLCFGR", 0x2C, "PLL1FRACEN:0 PLL1VCOSEL:1 PLL1RGE:2-3 PLL2FRACEN:4 PLL2VCOSEL:5 PLL2RGE:6-7 "
             "PLL3FRACEN:8 PLL3VCOSEL:9 PLL3RGE:10-11 DIVP1EN:16 DIVQ1EN:17 DIVR1EN:18 DIVP2EN:19 DIVQ2EN:20 "
             "DIVR2EN:21 DIVP3EN:22 DIVQ3EN:23 DIVR3EN:24", 0x01FF0000),
    *(Register(f"PLL{i}DIVR", 0x28 + 8 * i, "N:0-8 P:9-15 Q:16-22 R:24-30", 0x01010280) for i in (1, 2, 3)),
    *(Register(f"PLL{i}FRACR", 0x2C + 8 * i, "FRACN:3-15") for i in (1, 2, 3)),
    Register("CDCCIPR", 0x4C, "FMCSEL:0-1 OCTOSPISEL:4-5 SDMMCSEL:16 CKPERSEL:28-29"),
    Register("CDCCIP1R", 0x50, "SAI1SEL:0-2 SAI2ASEL:6-8 SAI2BSEL:9-11 SPI123SEL:12-14 SPI45SEL:16-18 SPDIFRXSEL:20-21 "
             "DFSDM1SEL:24 FDCANSEL:28-29 SWPMISEL:31"),
    Register("CDCCIP2R", 0x54, "USART234578SEL:0-2 USART16910SEL:3-5 RNGSEL:8-9 I2C123SEL:12-13 USBSEL:20-21 "
             "CECSEL:22-23 LPTIM1SEL:28-30"),
    Register("SRDCCIPR", 0x58, "LPUART1SEL:0-2 I2C4SEL:8-9 LPTIM2SEL:10-12 LPTIM3SEL:13-15 ADCSEL:16-17 DFSDM2SEL:27 "
             "SPI6SEL:28-30"),
    Register("CIER", 0x60, _as(_READY_FLAGS, "x")),
    Register("CIFR", 0x64, _as(_READY_FLAGS + " HSECSS:10", "r")),
    Register("CICR", 0x68, _as(_READY_FLAGS + " HSECSS:10", "w")),
    Register("BDCR", 0x70, "LSEON:0/x LSERDY:1/r LSEBYP:2/x LSEDRV:3-4/x LSECSSON:5/x LSECSSD:6/r LSEEXT:7/x "
             "RTCSEL:8-9/x RTCEN:15/x VSWRST:16/x"),
    Register("CSR", 0x74, "LSION:0/x LSIRDY:1/r"),
    Register("AHB3RSTR", 0x7C, _AHB3 + " CPU:31/x"),
    Register("AHB1RSTR", 0x80, _AHB1),
    Register("AHB2RSTR", 0x84, _AHB2),
    Register("AHB4RSTR", 0x88, _AHB4),
    Register("APB3RSTR", 0x8C, "LTDC:3"),
    Register("APB1LRSTR", 0x90, _APB1L),
    Register("APB1HRSTR", 0x94, _APB1H),
    Register("APB2RSTR", 0x98, _APB2),
    Register("APB4RSTR", 0x9C, _APB4),
    Register("SRDAMR", 0xA8, "BDMA2AM:0 GPIOAM:1 LPUART1AM:3 SPI6AM:5 I2C4AM:7 LPTIM2AM:9 LPTIM3AM:10 DAC2AM:13 "
             "COMP12AM:14 VREFAM:15 RTCAM:16 DTSAM:26 DFSDM2AM:27 BKPRAMAM:28 SRDSRAMAM:29"),
    Register("CKGAENR", 0xB0, "AXICKG:0 AHBCKG:1 CPUCKG:2 SDMMCCKG:3 MDMACKG:4 DMA2DCKG:5 LTDCCKG:6 GFXMMUMCKG:7 "
             "AHB12CKG:8 AHB34CKG:9 FLIFTCKG:10 OCTOSPI2CKG:11 FMCCKG:12 OCTOSPI1CKG:13 AXIRAM1CKG:14 AXIRAM2CKG:15 "
             "AXIRAM3CKG:16 GFXMMUSCKG:17 ECCRAMCKG:30 JTAGCKG:31"),
    Register("RSR", 0x130, "RMVF:16/w CDRSTF:19/r BORRSTF:21/r PINRSTF:22/r PORRSTF:23/r SFTRSTF:24/r IWDGRSTF:26/r "
             "WWDGRSTF:28/r LPWRRSTF:30/r", 0x00E80000),
    Register("AHB3ENR", 0x134, _AHB3),
    Register("AHB1ENR", 0x138, _AHB1 + " USB1OTGULPI:26"),
    Register("AHB2ENR", 0x13C, _AHB2 + " AHBSRAM1:29 AHBSRAM2:30"),
    Register("AHB4ENR", 0x140, _AHB4 + " BKPRAM:28 SRDSRAM:29"),
    Register("APB3ENR", 0x144, "LTDC:3 WWDG:6/x"),
    Register("APB1LENR", 0x148, _APB1L),
    Register("APB1HENR", 0x14C, _APB1H),
    Register("APB2ENR", 0x150, _APB2),
    Register("APB4ENR", 0x154, _APB4 + " RTCAPB:16", 0x00010000),
    _all_on("AHB3LPENR", 0x15C, _AHB3 + " FLITF:8 AXISRAM2:26 AXISRAM3:27 DTCM1:28 DTCM2:29 ITCM:30 AXISRAM1:31"),
    _all_on("AHB1LPENR", 0x160, _AHB1 + " USB1OTGULPI:26"),
    _all_on("AHB2LPENR", 0x164, _AHB2.replace("HSEM:2 ", "") + " AHBSRAM1:29 AHBSRAM2:30"),
    _all_on("AHB4LPENR", 0x168, _AHB4 + " BKPRAM:28 SRDSRAM:29"),
    _all_on("APB3LPENR", 0x16C, "LTDC:3 WWDG:6"),
    _all_on("APB1LLPENR", 0x170, _APB1L),
    _all_on("APB1HLPENR", 0x174, _APB1H),
    _all_on("APB2LPENR", 0x178, _APB2),
    _all_on("APB4LPENR", 0x17C, _APB4 + " RTCAPB:16"),
)  # fmt: skip


class Stm32H7b3Rcc(Stm32Rcc):
    """The reset and clock controller. Args: see Stm32Rcc."""

    REGISTERS = _REGISTERS
    CLOCKS = ("CDCFGR1", "CDCFGR2", "SRDCFGR", "CDCCIP2R")

    def __init__(self, clock: Clock, hse_hz: int) -> None:
        super().__init__(0x58024400, clock, hse_hz, STARTS)
        plls = 1 << PLL1 | 1 << PLL2 | 1 << PLL3
        self.on_write("PLLCKSELR", held=lambda: "a PLL is on" if self.value["CR"] & plls else "")
        self.on_write("PLL1DIVR", held=lambda: "PLL1 is on" if self.value["CR"] & 1 << PLL1 else "")

    # frequencies in Hz

    def core_hz(self) -> int:
        return self.system_hz() // AHB_DIVIDERS.get(self.field("CDCFGR1", "CDCPRE"), 1)

    def ahb_hz(self) -> int:
        return self.core_hz() // AHB_DIVIDERS.get(self.field("CDCFGR1", "HPRE"), 1)

    def apb_hz(self, bus: int) -> int:
        """Return the clock of APB 1 to 4 in Hz."""
        register, name = {
            1: ("CDCFGR2", "CDPPRE1"),
            2: ("CDCFGR2", "CDPPRE2"),
            3: ("CDCFGR1", "CDPPRE"),
            4: ("SRDCFGR", "SRDPPRE"),
        }[bus]
        return self.ahb_hz() // APB_DIVIDERS.get(self.field(register, name), 1)

    def system_hz(self) -> int:
        switch = self.field("CFGR", "SW")
        return (self.hsi_hz(), CSI_HZ, self._hse_hz, self.pll_hz(1, "P"))[switch]

    def hsi_hz(self) -> int:
        return HSI_HZ >> self.field("CR", "HSIDIV")

    def pll_hz(self, pll: int, output: str) -> int:
        """Return the frequency of output P, Q or R of a PLL in Hz, whether it runs or not; 0 without a source."""
        source = self.field("PLLCKSELR", "PLLSRC")
        reference = (self.hsi_hz(), CSI_HZ, self._hse_hz, 0)[source]
        divider = self.field("PLLCKSELR", f"DIVM{pll}")
        if not reference or not divider:
            return 0
        fraction = self.field(f"PLL{pll}FRACR", "FRACN") if self.field("PLLCFGR", f"PLL{pll}FRACEN") else 0
        multiplied = reference * ((self.field(f"PLL{pll}DIVR", "N") + 1) * 8192 + fraction) // (divider * 8192)
        return multiplied // (self.field(f"PLL{pll}DIVR", output) + 1)

    def usart1_hz(self) -> int:
        """Return USART1's kernel clock in Hz (CDCCIP2R.USART16910SEL); raise ModelFault if its source does not run."""
        select = self.field("CDCCIP2R", "USART16910SEL")
        sources = {
            0: (self.apb_hz(2), True), 1: (self.pll_hz(2, "Q"), self.is_ready(PLL2)),
            2: (self.pll_hz(3, "Q"), self.is_ready(PLL3)), 3: (self.hsi_hz(), self.is_ready(HSI)),
            4: (CSI_HZ, self.is_ready(CSI)), 5: (32768, False),
        }  # fmt: skip
        hz, running = sources.get(select, (0, False))
        if not hz or not running:
            raise ModelFault(f"the kernel clock of USART1 does not run (RCC_CDCCIP2R.USART16910SEL is {select})")
        return hz

    # registers

    def read_cr(self, value: int) -> int:
        return value | self.ready_flags() | 1 << 5 | 3 << 14  # HSIDIVF; CPU and domain clocks are ready

    def check_pll(self, start: int) -> None:
        """Raise ModelFault if the PLL's input or VCO is out of range by PLLCFGR (RM0455, RCC: PLLs description)."""
        if start not in (PLL1, PLL2, PLL3):
            return
        pll, source = (start - 22) // 2, self.field("PLLCKSELR", "PLLSRC")
        oscillator = _PLL_SOURCES[source]
        if oscillator is None or not self.is_ready(oscillator):
            raise ModelFault(f"PLL{pll} is started while its source (PLLSRC {source}) does not run")
        divider = self.field("PLLCKSELR", f"DIVM{pll}")
        reference = (self.hsi_hz(), CSI_HZ, self._hse_hz)[source] // max(1, divider)
        low, high = _PLL_INPUT[self.field("PLLCFGR", f"PLL{pll}RGE")]
        vco = self.pll_hz(pll, "P") * (self.field(f"PLL{pll}DIVR", "P") + 1)
        vco_low, vco_high = ((128e6, 560e6), (150e6, 420e6))[self.field("PLLCFGR", f"PLL{pll}VCOSEL")]
        if not divider or not low <= reference <= high:
            raise ModelFault(f"PLL{pll}: input {reference} Hz is outside {low}..{high} Hz, the range in PLLCFGR")
        if not vco_low <= vco <= vco_high:
            raise ModelFault(f"PLL{pll}: VCO at {vco} Hz is outside {vco_low:.0f}..{vco_high:.0f} Hz")

    def needed(self) -> tuple[int | None, ...]:
        source = SOURCES[self.field("CFGR", "SW")]
        return source, _PLL_SOURCES[self.field("PLLCKSELR", "PLLSRC")] if source == PLL1 else None

    def read_cfgr(self, value: int) -> int:
        return value | self.field("CFGR", "SW") << 3

    def write_cfgr(self, old: int, new: int, _acting: int) -> None:
        switch = new & 7
        if switch != old & 7:
            if switch > 3 or not self.is_ready(SOURCES[switch]):
                raise ModelFault(f"RCC_CFGR.SW is set to {switch} before that clock is ready; wait for its flag")
            if switch == 3 and not self.field("PLLCFGR", "DIVP1EN"):
                raise ModelFault("RCC_CFGR.SW selects PLL1, whose output P is off; set RCC_PLLCFGR.DIVP1EN")
        self.value["CFGR"] = new
        self._apply()
