"""The register map of the virtual i.MX RT1062 against MIMXRT1062.xml, NXP's SVD file as pyOCD carries it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from hil.standins.virtual.chip.imxrt1062.chip import USB1_IRQ, Imxrt1062
from hil.standins.virtual.chip.imxrt1062.set_clear import SetClearBlock
from hil.standins.virtual.chip.registers import Block, Register

from .svd import Svd, places, registers

FILE = "MIMXRT1062.xml"
NAMES = ("CCM", "CCM_ANALOG", "DCDC", "DMA0", "DMAMUX", "GPIO1", "GPIO2", "GPIO3", "GPIO4", "GPIO5", "IOMUXC", "IOMUXC_GPR", "LPUART6", "PMU",
         "RTWDOG", "SRC", "USB1", "USBPHY1", "USB_ANALOG", "WDOG1", "WDOG2")  # fmt: skip
# Registers of the chip that the model does not have; an access to them is a fault.
ABSENT = {
    "IOMUXC_GPR": {f"GPR{i}" for i in range(35)}
    - {"GPR1", "GPR14", "GPR16", "GPR17", "GPR26", "GPR27", "GPR28", "GPR29"},
    "SRC": {f"GPR{i}" for i in range(3, 11)},
    "PMU": {"MISC0", "MISC1", "MISC2"},  # those of CCM_ANALOG
}
# The key of RTWDOG has 32 bits (NXP's own start-up code writes it at once, as RTWDOG_CS.CMD32EN allows); the SVD file draws 16.
# The manual's own procedure at a bus reset writes all bits of ENDPTFLUSH, and public drivers write 0 to bits 12 and 14 of USBMODE.
BEYOND = {("RTWDOG", "CNT"): 0xFFFF0000, ("USB1", "ENDPTFLUSH"): 0xFF00FF00, ("USB1", "USBMODE"): 0x7000}
WITH_ALIASES = ("CCM_ANALOG", "PMU", "USBPHY1", "USB_ANALOG")


@cache
def chip() -> Imxrt1062:
    return Imxrt1062(np.random.default_rng(1), lambda _: None, lambda *_: None, lambda _: None, 921_600)


def block(name: str) -> Block:
    return next(one for one in chip()._powered if one.name == name)


def described(name: str) -> dict[str, Svd]:
    """Return the SVD file's registers of a block that the model is to have."""
    absent = ABSENT.get(name, set())
    every = {key: one for key, one in registers(FILE, NAMES)[name].items() if key not in absent}
    if name in WITH_ALIASES:  # the aliases that set, clear and toggle; of both spellings of a word its widest
        every = {key: one for key, one in every.items() if not key.endswith(("_SET", "_CLR", "_TOG"))}
    if name == "IOMUXC":
        every = {key: one for key, one in every.items() if one.offset < 0x3F4 or key.startswith("LPUART6")}
    return every


def words(name: str) -> dict[int, Svd]:
    """Return the words of a block by offset: narrow registers in the lanes they have on the bus."""
    out: dict[int, Svd] = {}
    for one in described(name).values():
        at, lane = one.offset & ~3, 8 * (one.offset & 3)
        before = out.get(at, Svd(at, 4, 0, 0, 0))
        out[at] = Svd(
            at,
            4,
            before.reset | one.reset << lane,
            before.fields | one.fields << lane,
            before.read_only | one.read_only << lane,
        )
    return out


def mask(register: Register, *kinds: str) -> int:
    return sum(field.mask for field in register.by_name.values() if field.access in kinds)


@pytest.mark.parametrize("name", NAMES)
def test_every_register_stands_where_the_chip_has_it(name: str) -> None:
    assert {register.offset for register in block(name).REGISTERS} == set(words(name))


@pytest.mark.parametrize("name", NAMES)
def test_reset_values_and_reserved_bits_are_the_chip_s(name: str) -> None:
    described_words = words(name)
    for register in block(name).REGISTERS:
        there = described_words[register.offset]
        assert register.reset == there.reset, (
            f"{name}_{register.name}: 0x{register.reset:08X}, the SVD file says 0x{there.reset:08X}"
        )
        listed = ~register.reserved & 0xFFFFFFFF
        assert listed == there.fields | BEYOND.get((name, register.name), 0), (
            f"{name}_{register.name}: fields 0x{there.fields:08X}"
        )


@pytest.mark.parametrize("name", NAMES)
def test_what_only_reads_on_the_chip_only_reads_here(name: str) -> None:
    described_words = words(name)
    for register in block(name).REGISTERS:
        there = described_words[register.offset]
        assert mask(register, "r") & ~there.read_only == 0, f"{name}_{register.name} can be written on the chip"
        assert mask(register, "rw", "c", "w") & there.read_only == 0, (
            f"{name}_{register.name} cannot be written on the chip"
        )


def test_registers_that_set_clear_and_toggle_stand_behind_their_own() -> None:
    for name in WITH_ALIASES:
        every, there = registers(FILE, NAMES)[name], block(name)
        assert isinstance(there, SetClearBlock)
        check_aliases(every, there)


def check_aliases(every: dict[str, Svd], there: SetClearBlock) -> None:
    for register in there.REGISTERS:
        for i, how in enumerate(("SET", "CLR", "TOG"), 1):
            alias = every.get(f"{register.name}_{how}")
            assert (alias is None) == (register.name in there.ONCE), register.name
            assert alias is None or alias.offset == register.offset + 4 * i


def test_bases_and_interrupts_are_the_chip_s() -> None:
    bases, interrupts = places(FILE)
    for one in chip()._powered:
        assert one.base == bases[one.name], one.name
    assert (interrupts["LPUART6"], interrupts["USB_OTG1"]) == (25, USB1_IRQ)
    assert (interrupts["DMA0_DMA16"], interrupts["DMA1_DMA17"]) == (0, 1)
    assert chip().spec.interrupts == max(interrupts.values()) + 1
