"""Registers of STM32F745/746 as the vendor's SVD (version 1.6) states them: offset, reset value and the bits that belong to fields.

Typed from that file's published contents, not from the model; where the SVD is wrong, `DEVIATIONS` says how and why. Peripherals that
STM32F429 has in the same form are compared with the SVD that pyOCD carries.
"""

from __future__ import annotations

ALL = "0-31"
_AHB2, _APB1 = "0 4-7", "0-9 11 14-31"
_APB2_CLOCKS = "0 1 4 5 8-14 16-18 20-23 26"

# Peripheral -> register -> (offset, reset value, bits of fields).
REGISTERS: dict[str, dict[str, tuple[int, int, str]]] = {
    "RCC": {
        "CR": (0, 131, "0 1 3-19 24-27"), "PLLCFGR": (4, 603992080, "0-14 16 17 22 24-27"), "CFGR": (8, 0, "0-7 10-31"),
        "CIR": (12, 0, "0-14 16-23"), "AHB1RSTR": (16, 0, "0-10 12 21-23 25 29"), "AHB2RSTR": (20, 0, _AHB2),
        "AHB3RSTR": (24, 0, "0 1"), "APB1RSTR": (32, 0, _APB1), "APB2RSTR": (36, 0, "0 1 4 5 8 11-14 16-18 20-23 26"),
        "AHB1ENR": (48, 1048576, "0-10 12 18 20-23 25-30"), "AHB2ENR": (52, 0, _AHB2), "AHB3ENR": (56, 0, "0 1"),
        "APB1ENR": (64, 0, _APB1), "APB2ENR": (68, 0, _APB2_CLOCKS),
        "AHB1LPENR": (80, 2120716799, "0-10 12 15-19 21-23 25-30"), "AHB2LPENR": (84, 241, _AHB2), "AHB3LPENR": (88, 1, "0 1"),
        "APB1LPENR": (96, 922667519, _APB1), "APB2LPENR": (100, 483123, _APB2_CLOCKS), "BDCR": (112, 0, "0-2 8 9 15 16"),
        "CSR": (116, 234881024, "0 1 24-31"), "SSCGR": (128, 0, "0-27 30 31"), "PLLI2SCFGR": (132, 536883200, "6-14 24-30"),
        "PLLSAICFGR": (136, 536883200, "6-14 16 17 24-30"), "DCKCFGR1": (140, 536883200, "0-4 8-12 16 17 20-24"),
        "DCKCFGR2": (144, 536883200, "0-28"),
    },
    "PWR": {
        "CR1": (0, 49152, "0 1 3-11 13-19"), "CSR1": (4, 0, "0-3 9 14 16-19"), "CR2": (8, 0, "0-5 8-13"), "CSR2": (12, 0, "0-5 8-13"),
    },
    "FLASH": {
        "ACR": (0, 0, "0-3 8 9 11"), "KEYR": (4, 0, ALL), "OPTKEYR": (8, 0, ALL), "SR": (12, 0, "0 1 4-7 16"),
        "CR": (16, 2147483648, "0-9 15 16 24 25 31"), "OPTCR": (20, 268413677, ALL), "OPTCR1": (24, 268369920, ALL),
    },
    "DBGMCU": {
        "IDCODE": (0, 268461073, "0-11 16-31"), "CR": (4, 0, "0-2 5-7"), "APB1_FZ": (8, 0, "0-8 11 12 21-23 25 26"),
        "APB2_FZ": (12, 0, "0 1 16-18"),
    },
    "USART1": {
        "CR1": (0, 0, "0-28"), "CR2": (4, 0, "4-6 8-31"), "CR3": (8, 0, "0-15 17-24"), "BRR": (12, 0, "0-15"), "GTPR": (16, 0, "0-15"),
        "RTOR": (20, 0, ALL), "RQR": (24, 0, "0-4"), "ISR": (28, 192, "0-12 14-22 25"), "ICR": (32, 0, "0-4 6-9 11 12 17 20"),
        "RDR": (36, 0, "0-8"), "TDR": (40, 0, "0-8"),
    },
}  # fmt: skip

# Where the model follows RM0385 against the SVD: bits that differ, and the reset value.
_NO_STOP = "no wake-up from Stop and no guard-time flag on STM32F74x (RM0385, USART implementation)"
_LPENR = "the SVD's value leaves out clocks that it lists itself: all are on after reset (RM0385, RCC_xLPENR)"
DEVIATIONS: dict[tuple[str, str], tuple[str, int | None, str]] = {
    ("RCC", "CR"): ("28 29", None, "PLLSAI, to which CIR and PLLSAICFGR of the same SVD belong"),
    ("RCC", "AHB1LPENR"): ("13 19 20", 0x7EF7B7FF, "AXI bridge and DTCM; there is no SRAM3; " + _LPENR),
    ("RCC", "AHB3LPENR"): ("", 0x3, _LPENR),
    ("RCC", "APB1LPENR"): ("", 0xFFFFCBFF, _LPENR),
    ("RCC", "APB2LPENR"): ("", 0x04F77F33, _LPENR),
    ("RCC", "DCKCFGR1"): ("", 0, "the SVD repeats the value of PLLI2SCFGR, with bits where it lists no field"),
    ("RCC", "DCKCFGR2"): ("", 0, "the SVD repeats the value of PLLI2SCFGR, with bits where it lists no field"),
    ("PWR", "CSR1"): ("8", None, "EIWUP (RM0385, PWR_CSR1)"),
    ("FLASH", "CR"): ("7 15", None, "MER1 and the fifth bit of SNB are of two banks (RM0385, FLASH_CR)"),
    ("FLASH", "OPTCR"): ("24-29", 0xC0FFAAFD, "two banks' bits and write protections (RM0385, FLASH_OPTCR); its factory value"),
    ("FLASH", "OPTCR1"): ("", 0x00400080, "the factory value: boot from the flash on ITCM or from the system memory (RM0385, FLASH_OPTCR1)"),
    ("DBGMCU", "IDCODE"): ("", 0x10016449 & 0xFFFF0FFF, "the SVD has the code of STM32F405 (RM0385, DBGMCU_IDCODE)"),
    ("USART1", "CR1"): ("1", None, _NO_STOP),
    ("USART1", "CR3"): ("20-24", None, _NO_STOP),
    ("USART1", "ISR"): ("20 22 25", None, _NO_STOP),
    ("USART1", "ICR"): ("7 20", None, _NO_STOP),
}  # fmt: skip


def mask(bits: str) -> int:
    """Return the mask of bits written as `0 3-5`."""
    value = 0
    for item in bits.split():
        low, _, high = item.partition("-")
        value |= (1 << int(high or low) + 1) - (1 << int(low))
    return value


def expected(peripheral: str, register: str) -> tuple[int, int, int]:
    """Return offset, reset value and mask of the fields: the SVD's, put right."""
    offset, reset, bits = REGISTERS[peripheral][register]
    differ, better, _ = DEVIATIONS.get((peripheral, register), ("", None, ""))
    return offset, reset if better is None else better, mask(bits) ^ mask(differ)
