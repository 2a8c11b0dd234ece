"""RCC of STM32F746: oscillators, main PLL, clock tree and clock gates (RM0385, RCC: clocks, RCC registers)."""

from __future__ import annotations

from hil.standins.virtual.chip.clock import Clock
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.registers import Register, parse_fields
from hil.standins.virtual.chip.stm32.rcc import AHB_DIVIDERS, APB_DIVIDERS, HSE, HSI, Stm32Rcc

HSI_HZ = 16_000_000
PLL = 24  # bit of CR that starts it
SOURCES = (HSI, HSE, PLL)  # by the value of SW
# Bits that start and report a source, and the time between [ps] (DS10916: HSI, HSE and main PLL characteristics).
STARTS = {HSI: (1, 2_200_000), HSE: (17, 2_000_000_000), PLL: (25, 200_000_000)}
_NAME = {HSI: "HSI", HSE: "HSE"}
# RM0385, RCC_PLLCFGR, and DS10916, main PLL characteristics: ranges of input and VCO in Hz, and of the factors.
_INPUT, _VCO, _M, _N, _Q = (950_000, 2_100_000), (100_000_000, 432_000_000), (2, 63), (50, 432), (2, 15)
PORTS = "ABCDEFGHIJK"
_GPIO = " ".join(f"GPIO{letter}:{i}" for i, letter in enumerate(PORTS))
_AHB1 = _GPIO + " CRC:12 DMA1:21 DMA2:22 DMA2D:23 ETHMAC:25"
_ETH_USB = " ETHMACTX:26 ETHMACRX:27 ETHMACPTP:28 OTGHS:29 OTGHSULPI:30"
_AHB2 = "DCMI:0 CRYP:4 HASH:5 RNG:6 OTGFS:7"
_AHB3 = "FMC:0 QSPI:1"
_APB1 = ("TIM2:0 TIM3:1 TIM4:2 TIM5:3 TIM6:4 TIM7:5 TIM12:6 TIM13:7 TIM14:8 LPTIM1:9 WWDG:11 SPI2:14 SPI3:15 "
         "SPDIFRX:16 USART2:17 USART3:18 UART4:19 UART5:20 I2C1:21 I2C2:22 I2C3:23 I2C4:24 CAN1:25 CAN2:26 CEC:27 "
         "PWR:28 DAC:29 UART7:30 UART8:31")  # fmt: skip
_APB2 = ("TIM1:0 TIM8:1 USART1:4 USART6:5 SDMMC1:11 SPI1:12 SPI4:13 SYSCFG:14 TIM9:16 TIM10:17 TIM11:18 SPI5:20 "
         "SPI6:21 SAI1:22 SAI2:23 LTDC:26")  # fmt: skip
_ADCS = " ADC1:8 ADC2:9 ADC3:10"
_READY = ("LSIRDY", "LSERDY", "HSIRDY", "HSERDY", "PLLRDY", "PLLI2SRDY", "PLLSAIRDY")


def _as(fields: str, access: str) -> str:
    return " ".join(f"{field}/{access}" for field in fields.split())


def _asleep(name: str, offset: int, fields: str) -> Register:
    """Return a register of the clocks in Sleep mode: all are on after reset. Switching one off is not modelled."""
    return Register(name, offset, _as(fields, "x"), sum(field.mask for field in parse_fields(fields)))


_REGISTERS = (
    Register("CR", 0x00, "HSION:0 HSIRDY:1/r HSITRIM:3-7 HSICAL:8-15/r HSEON:16 HSERDY:17/r HSEBYP:18/x CSSON:19/x "
             "PLLON:24 PLLRDY:25/r PLLI2SON:26/x PLLI2SRDY:27/r PLLSAION:28/x PLLSAIRDY:29/r", 0x00000083),
    Register("PLLCFGR", 0x04, "PLLM:0-5 PLLN:6-14 PLLP:16-17 PLLSRC:22 PLLQ:24-27", 0x24003010),
    Register("CFGR", 0x08, "SW:0-1 SWS:2-3/r HPRE:4-7 PPRE1:10-12 PPRE2:13-15 RTCPRE:16-20 MCO1:21-22 I2SSRC:23 "
             "MCO1PRE:24-26 MCO2PRE:27-29 MCO2:30-31"),
    Register("CIR", 0x0C,
             " ".join(f"{name}F:{i}/r {name}IE:{8 + i}/x {name}C:{16 + i}/w" for i, name in enumerate(_READY))
             + " CSSF:7/r CSSC:23/w"),
    Register("AHB1RSTR", 0x10, _AHB1 + " OTGHS:29"),
    Register("AHB2RSTR", 0x14, _AHB2),
    Register("AHB3RSTR", 0x18, _AHB3),
    Register("APB1RSTR", 0x20, _APB1),
    Register("APB2RSTR", 0x24, _APB2 + " ADC:8"),
    Register("AHB1ENR", 0x30, _AHB1 + " BKPSRAM:18 DTCMRAM:20/x" + _ETH_USB, 1 << 20),
    Register("AHB2ENR", 0x34, _AHB2),
    Register("AHB3ENR", 0x38, _AHB3),
    Register("APB1ENR", 0x40, _APB1.replace("WWDG:11", "WWDG:11/x")),
    Register("APB2ENR", 0x44, _APB2 + _ADCS),
    _asleep("AHB1LPENR", 0x50, _AHB1 + " AXI:13 FLITF:15 SRAM1:16 SRAM2:17 BKPSRAM:18 DTCM:20" + _ETH_USB),
    _asleep("AHB2LPENR", 0x54, _AHB2),
    _asleep("AHB3LPENR", 0x58, _AHB3),
    _asleep("APB1LPENR", 0x60, _APB1),
    _asleep("APB2LPENR", 0x64, _APB2 + _ADCS),
    Register("BDCR", 0x70, "LSEON:0/x LSERDY:1/r LSEBYP:2/x RTCSEL:8-9/x RTCEN:15/x BDRST:16/x"),
    Register("CSR", 0x74, "LSION:0/x LSIRDY:1/r RMVF:24/w BORRSTF:25/r PINRSTF:26/r PORRSTF:27/r SFTRSTF:28/r "
             "IWDGRSTF:29/r WWDGRSTF:30/r LPWRRSTF:31/r", 0x0E000000),
    Register("SSCGR", 0x80, "MODPER:0-12/x INCSTEP:13-27/x SPREADSEL:30/x SSCGEN:31/x"),
    Register("PLLI2SCFGR", 0x84, "PLLI2SN:6-14/x PLLI2SQ:24-27/x PLLI2SR:28-30/x", 0x20003000),
    Register("PLLSAICFGR", 0x88, "PLLSAIN:6-14/x PLLSAIP:16-17/x PLLSAIQ:24-27/x PLLSAIR:28-30/x", 0x20003000),
    Register("DCKCFGR1", 0x8C, "PLLI2SDIVQ:0-4/x PLLSAIDIVQ:8-12/x PLLSAIDIVR:16-17/x SAI1SEL:20-21/x SAI2SEL:22-23/x "
             "TIMPRE:24/x"),
    Register("DCKCFGR2", 0x90, "USART1SEL:0-1 USART2SEL:2-3 USART3SEL:4-5 UART4SEL:6-7 UART5SEL:8-9 USART6SEL:10-11 "
             "UART7SEL:12-13 UART8SEL:14-15 I2C1SEL:16-17 I2C2SEL:18-19 I2C3SEL:20-21 I2C4SEL:22-23 LPTIM1SEL:24-25 "
             "CECSEL:26 CK48MSEL:27 SDMMC1SEL:28"),
)  # fmt: skip


class Stm32F746Rcc(Stm32Rcc):
    """The reset and clock controller. Args: see Stm32Rcc."""

    REGISTERS = _REGISTERS
    CLOCKS = ("DCKCFGR2",)

    def __init__(self, clock: Clock, hse_hz: int) -> None:
        super().__init__(0x40023800, clock, hse_hz, STARTS)
        self.on_write("PLLCFGR", held=lambda: "the PLL is on" if self.field("CR", "PLLON") else "")

    # frequencies in Hz

    def core_hz(self) -> int:
        return self.system_hz() // AHB_DIVIDERS.get(self.field("CFGR", "HPRE"), 1)

    def apb_hz(self, bus: int) -> int:
        """Return the clock of APB 1 or 2 in Hz."""
        return self.core_hz() // APB_DIVIDERS.get(self.field("CFGR", f"PPRE{bus}"), 1)

    def system_hz(self) -> int:
        return (HSI_HZ, self._hse_hz, self.pll_hz())[self.field("CFGR", "SW")]

    def source(self) -> int:
        """Return the source of the system clock: HSI, HSE or PLL."""
        return SOURCES[self.field("CFGR", "SW")]

    def pll_hz(self) -> int:
        """Return the frequency of the PLL's output P in Hz, whether it runs or not."""
        return self._vco_hz() // (2 * (self.field("PLLCFGR", "PLLP") + 1))

    def _vco_hz(self) -> int:
        return self._pll_source_hz() * self.field("PLLCFGR", "PLLN") // max(1, self.field("PLLCFGR", "PLLM"))

    def _pll_source_hz(self) -> int:
        return self._hse_hz if self._pll_source() == HSE else HSI_HZ

    def _pll_source(self) -> int:
        return HSE if self.field("PLLCFGR", "PLLSRC") else HSI

    def usart1_hz(self) -> int:
        """Return USART1's kernel clock in Hz (DCKCFGR2.USART1SEL); raise ModelFault if its source does not run."""
        select = self.field("DCKCFGR2", "USART1SEL")
        if select == 3 or (select == 2 and not self.is_ready(HSI)):
            raise ModelFault(f"the kernel clock of USART1 does not run (RCC_DCKCFGR2.USART1SEL is {select})")
        return (self.apb_hz(2), self.system_hz(), HSI_HZ)[select]

    # registers

    def read_cr(self, value: int) -> int:
        return value & ~2 | self.ready_flags()

    def check_pll(self, start: int) -> None:
        """Raise ModelFault if the PLL's factors, input or VCO are outside their ranges (RM0385, RCC_PLLCFGR)."""
        if start != PLL:
            return
        if not self.is_ready(self._pll_source()):
            raise ModelFault(f"the PLL is started while its source, the {_NAME[self._pll_source()]}, does not run")
        for name, (low, high) in (("PLLM", _M), ("PLLN", _N), ("PLLQ", _Q)):
            if not low <= self.field("PLLCFGR", name) <= high:
                raise ModelFault(f"RCC_PLLCFGR.{name} is {self.field('PLLCFGR', name)}, it may be {low} to {high}")
        reference = self._pll_source_hz() // self.field("PLLCFGR", "PLLM")
        for what, hz, (low, high) in (("input", reference, _INPUT), ("VCO", self._vco_hz(), _VCO)):
            if not low <= hz <= high:
                raise ModelFault(f"the PLL's {what} at {hz} Hz is outside {low}..{high} Hz")

    def needed(self) -> tuple[int | None, ...]:
        return self.source(), self._pll_source() if self.field("CR", "PLLON") else None

    def read_cfgr(self, value: int) -> int:
        return value | self.field("CFGR", "SW") << 2

    def write_cfgr(self, old: int, new: int, _acting: int) -> None:
        switch = new & 3
        if switch != old & 3 and (switch >= len(SOURCES) or not self.is_ready(SOURCES[switch])):
            raise ModelFault(f"RCC_CFGR.SW is set to {switch} before that clock is ready; wait for its flag in RCC_CR")
        self.value["CFGR"] = new
        self._apply()
