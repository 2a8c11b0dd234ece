"""Every register of the emulated STM32F746 against data that this project did not write."""

from __future__ import annotations

import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

import pyocd
import pytest

from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.registers import WORD, Block
from hil.standins.virtual.chip.stm32f746.chip import USART1_IRQ
from hil.standins.virtual.chip.stm32f746.dma import IRQS as DMA2_IRQS
from hil.standins.virtual.chip.stm32f746.identity import Stm32F746DbgMcu

from .f746 import F746
from .stm32f746_svd import DEVIATIONS, REGISTERS, expected, mask

SVD = Path(pyocd.__file__).parent / "debug/svd/svd_data.zip"
# pyOCD carries no SVD of an STM32F7. STM32F429 has these in the same form, at the same addresses and interrupts.
SHARED = ["DMA2", *(f"GPIO{letter}" for letter in "ABCDEFGHIJK")]
FEEDING = {"KR", "PR", "RLR", "SR"}  # of IWDG, whose window (WINR, SR.WVU) STM32F429 does not have


def blocks(chip) -> dict[str, Block]:
    """Return the peripherals of the chip by name, those of the core left out."""
    return {block.name: block for block in [*chip.blocks, Stm32F746DbgMcu()] if block.name not in ("SCB", "SYSTICK")}


def fields(register) -> int:
    return WORD & ~register.reserved


@pytest.fixture(scope="module")
def f746() -> F746:
    return F746()


@pytest.fixture(scope="module")
def f429() -> dict[str, ET.Element]:
    """Return the peripherals of pyOCD's STM32F429x.svd by name."""
    with zipfile.ZipFile(SVD) as archive:
        device = ET.fromstring(archive.read("STM32F429x.svd"))
    return {p.findtext("name"): p for p in device.iter("peripheral")}


def svd_registers(peripherals: dict[str, ET.Element], name: str) -> dict[str, tuple[int, int, int]]:
    """Return offset, reset value and mask of the fields of every register."""
    one = peripherals[name]
    one = peripherals[one.get("derivedFrom")] if one.get("derivedFrom") else one
    found = {}
    for register in one.iter("register"):
        bits = [(int(f.findtext("bitOffset"), 0), int(f.findtext("bitWidth"), 0)) for f in register.iter("field")]
        covered = sum({low: (1 << low + width) - (1 << low) for low, width in bits}.values())
        found[register.findtext("name")] = (
            int(register.findtext("addressOffset"), 0),
            int(register.findtext("resetValue"), 0),
            covered,
        )
    return found


@pytest.mark.parametrize(("peripheral", "register"), [(p, r) for p in REGISTERS for r in REGISTERS[p]])
def test_a_register_is_that_of_the_vendor_s_svd(peripheral: str, register: str, f746: F746) -> None:
    model = {r.name: r for r in blocks(f746.chip)[peripheral].REGISTERS}[register]
    assert (model.offset, model.reset, fields(model)) == expected(peripheral, register)


@pytest.mark.parametrize("peripheral", REGISTERS)
def test_there_are_no_other_registers(peripheral: str, f746: F746) -> None:
    assert {r.name for r in blocks(f746.chip)[peripheral].REGISTERS} == set(REGISTERS[peripheral])


def test_a_deviation_is_one() -> None:
    for peripheral, register in DEVIATIONS:
        offset, reset, covered = expected(peripheral, register)
        stated = REGISTERS[peripheral][register]
        assert (offset, reset) != stated[:2] or covered != mask(stated[2])


@pytest.mark.parametrize("peripheral", SHARED)
def test_a_shared_peripheral_is_that_of_pyocd_s_svd(peripheral: str, f746: F746, f429: dict[str, ET.Element]) -> None:
    block = blocks(f746.chip)[peripheral]
    block.reset()
    stated = svd_registers(f429, peripheral)
    if peripheral == "GPIOA":  # SWDIO on PA13 is fast, as SWO on PB3, which the SVD has (RM0385, GPIOx_OSPEEDR)
        stated["OSPEEDR"] = (stated["OSPEEDR"][0], 0x0C000000, stated["OSPEEDR"][2])
    assert block.base == int(f429[peripheral].findtext("baseAddress"), 0)
    assert {r.name: (r.offset, block.value[r.name]) for r in block.REGISTERS} == {
        name: s[:2] for name, s in stated.items()
    }
    for register in block.REGISTERS:
        # Bit 20 of a stream's control register, ACK, is in that SVD and in no manual of STM32F4 or STM32F7.
        surplus = 1 << 20 if register.name.endswith("CR") and peripheral == "DMA2" and register.name[0] == "S" else 0
        assert fields(register) == stated[register.name][2] & ~surplus, register.name


def test_the_watchdog_is_that_of_pyocd_s_svd(f746: F746, f429: dict[str, ET.Element]) -> None:
    block = blocks(f746.chip)["IWDG"]
    stated = svd_registers(f429, "IWDG")
    assert set(stated) == FEEDING
    for register in block.REGISTERS:
        if register.name in FEEDING:
            window = 4 if register.name == "SR" else 0
            assert (register.offset, register.reset, fields(register) & ~window) == stated[register.name]


def test_addresses_and_interrupts_are_those_of_pyocd_s_svd(f746: F746, f429: dict[str, ET.Element]) -> None:
    for name in ("RCC", "PWR", "FLASH", "IWDG", "USART1"):
        assert blocks(f746.chip)[name].base == int(f429[name].findtext("baseAddress"), 0)
    assert Stm32F746DbgMcu().base == int(f429["DBG"].findtext("baseAddress"), 0)
    numbers = {i.findtext("name"): int(i.findtext("value")) for p in f429.values() for i in p.iter("interrupt")}
    assert [numbers[f"DMA2_Stream{i}"] for i in range(8)] == list(DMA2_IRQS)
    assert numbers["USART1"] == USART1_IRQ


def test_every_register_takes_its_reset_value_back(f746: F746) -> None:
    """Read, then write the same: a program that leaves reserved bits alone must never be refused for them."""
    f746.chip.rcc.value.update({"AHB1ENR": 0x007007FF, "APB1ENR": 1 << 28, "APB2ENR": 0x10})
    f746.chip.set_gates()
    refused = []
    for block in f746.chip.blocks:
        for register in block.REGISTERS:
            if register.acting:
                continue
            value = block.read(register.offset, 4) & ~register.clearing
            try:
                block.write(register.offset, 4, value)
            except ModelFault as fault:
                refused.append(str(fault))
    assert refused == []
