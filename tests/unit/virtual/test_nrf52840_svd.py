"""The register map of the virtual nRF52840 against data that nobody here wrote: nrf52840.svd in pyOCD's svd_data.zip."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyocd.debug.svd
import pytest
from pyocd.debug.svd.model import SVDPeripheral
from pyocd.debug.svd.parser import SVDParser

from hil.standins.virtual.chip.nrf52840.chip import Nrf52840
from hil.standins.virtual.chip.nrf52840.uarte_registers import BAUD
from hil.standins.virtual.chip.registers import WORD, Block, Register

WHOLE = ("UARTE0", "PPI", "NVMC", "WDT", "P0", "TIMER3", "TIMER4")
# What the SVD says of these is a copy of a larger sibling: nrf52840_peripherals.h has 4 CC registers for TIMER0 to 2, 16 pins for P1.
CUT = {"TIMER0": r"(CC|CAPTURE|COMPARE)\[?[45]", "TIMER1": r"(CC|CAPTURE|COMPARE)\[?[45]", "TIMER2": r"(CC|CAPTURE|COMPARE)\[?[45]",
       "P1": r"PIN_?C?N?F?\[?(1[6-9]|2\d|3[01])(?!\d)"}  # fmt: skip
YOUNGER = {"APPROTECT_FORCEPROTECT", "APPROTECT_DISABLE"}  # than the SVD, which ends before build code F
ACCESS = {"write-only": ("w", "x"), "read-only": ("r",), "read-write": ("rw", "c", "x")}
Svd = dict[str, SVDPeripheral]


@pytest.fixture(scope="module")
def svd() -> Svd:
    data = zipfile.ZipFile(Path(pyocd.debug.svd.__file__).parent / "svd_data.zip").read("nrf52840.svd")
    return {p.name: p for p in SVDParser.for_xml_file(io.BytesIO(data)).get_device().peripherals}


@pytest.fixture(scope="module")
def chip() -> Nrf52840:
    return Nrf52840(np.random.default_rng(1), lambda _: None, lambda *_: None, lambda _: None, 1_000_000)


def block(chip: Nrf52840, name: str) -> Block:
    return next(b for b in chip.blocks if b.name == name)


def described(*peripherals: SVDPeripheral, without: str = "(?!)") -> Iterator[tuple[int, str, int, dict[int, str]]]:
    """Yield offset, name, reset value and {mask: access} of every register, fields of the same address joined."""
    found: dict[int, tuple[str, int, dict[int, str]]] = {}
    for register in (r for p in peripherals for r in p.registers if not re.search(without, r.name)):
        name, reset, fields = found.setdefault(register.address_offset, (register.name, register.reset_value or 0, {}))
        for one in register.fields:
            if not re.search(without, one.name):
                fields[(1 << one.bit_width) - 1 << one.bit_offset] = one.access or register.access
    for offset, (name, reset, fields) in sorted(found.items()):
        yield offset, re.sub(r"[\[\]]", "", name), reset, fields


def compare(registers: tuple[Register, ...], expected: Iterator[tuple[int, str, int, dict[int, str]]]) -> int:
    """Compare name, reset value, fields, access and reserved bits of every register; return how many there are."""
    ours = {register.offset: register for register in registers if register.name not in YOUNGER}
    n = 0
    for offset, name, reset, fields in expected:
        one = ours.pop(offset)
        assert one.name == name, hex(offset)
        assert one.reset == reset, name
        assert {f.mask for f in one.by_name.values()} == set(fields), name
        assert one.reserved == WORD & ~sum(fields), name
        for field in one.by_name.values():
            assert field.access in ACCESS[fields[field.mask]], f"{name}.{field.name}"
        n += 1
    assert not ours, "the chip does not have them"
    return n


@pytest.mark.parametrize("name", WHOLE)
def test_every_register_is_the_chip_s(svd: Svd, chip: Nrf52840, name: str) -> None:
    ours = block(chip, name)
    assert ours.base == svd[name].base_address
    expected = described(svd[name], without=r"ERASEPCR1")  # an old name of ERASEPAGE's address
    assert compare(ours.REGISTERS, expected) == len(ours.REGISTERS)


@pytest.mark.parametrize("name", CUT)
def test_smaller_instances_have_less_of_the_same(svd: Svd, chip: Nrf52840, name: str) -> None:
    ours = block(chip, name)
    assert ours.base == svd[name].base_address
    assert compare(ours.REGISTERS, described(svd[name], without=CUT[name])) == len(ours.REGISTERS)


def test_power_and_clock_share_their_addresses(svd: Svd, chip: Nrf52840) -> None:
    ours = block(chip, "POWER")
    assert ours.base == svd["POWER"].base_address == svd["CLOCK"].base_address
    assert compare(ours.REGISTERS, described(svd["POWER"], svd["CLOCK"])) == len(ours.REGISTERS) - len(YOUNGER)


def test_interrupts_are_the_chip_s(svd: Svd, chip: Nrf52840) -> None:
    """Each block raises the line that the SVD gives its peripheral."""
    for name in ("UARTE0", "POWER", *(f"TIMER{i}" for i in range(5))):
        chip.nvic.reset()
        ours = block(chip, name)
        ours._drive_line(True)
        assert chip.nvic.lines == 1 << 16 + svd[name].interrupts[0].value, name
        ours._drive_line(False)
    assert chip.spec.interrupts == 48 > max(i.value for p in svd.values() for i in p.interrupts)


def test_factory_words_stand_where_the_svd_has_them(svd: Svd, chip: Nrf52840) -> None:
    places = {offset: name for offset, name, _, _ in described(svd["FICR"])}
    for register in chip.bus._lines[svd["FICR"].base_address >> 4].REGISTERS:  # type: ignore[attr-defined]
        assert places[register.offset] == register.name
    assert chip.bus.read(0x10000100, 4) == next(r for o, _, r, _ in described(svd["FICR"]) if o == 0x100)


def test_user_words_are_where_the_svd_has_them(svd: Svd, chip: Nrf52840) -> None:
    places = {name: (svd["UICR"].base_address + offset, fields) for offset, name, _, fields in described(svd["UICR"])}
    for name, word, effect in (
        ("APPROTECT", 0xFFFFFF5A, lambda: chip.uicr.protection == 0x5A),
        ("PSELRESET0", 0xFFFFFFFF, lambda: not chip.uicr.pin_reset),
        ("PSELRESET1", 0x7FFFFFD2, lambda: not chip.uicr.pin_reset),
        ("PSELRESET0", 0x7FFFFFD2, lambda: chip.uicr.pin_reset),
    ):
        address, fields = places[name]
        assert 0xFF in fields or fields.keys() == {0x1F, 0x20, 1 << 31}
        chip.uicr.words[address - chip.uicr.base >> 2] = word
        assert effect(), name


def test_baud_rates_are_those_of_the_svd(svd: Svd) -> None:
    register = next(r for r in svd["UARTE0"].registers if r.name == "BAUDRATE")
    values = {v.name: v.value for v in register.fields[0].enumerated_values}
    assert set(values.values()) == set(BAUD)
    for name, value in values.items():
        named = int(name.removeprefix("Baud").replace("M", "000000"))
        assert abs(BAUD[value] / named - 1) < 0.03, name


def check_fails(break_it: Callable[[Register], Register], chip: Nrf52840, svd: Svd) -> None:
    broken = tuple(break_it(r) if r.name == "RXD_MAXCNT" else r for r in block(chip, "UARTE0").REGISTERS)
    with pytest.raises((AssertionError, KeyError)):
        compare(broken, described(svd["UARTE0"]))


def test_a_wrong_offset_reset_value_or_field_is_found(svd: Svd, chip: Nrf52840) -> None:
    check_fails(lambda r: Register(r.name, 0x540, r.fields, r.reset), chip, svd)
    check_fails(lambda r: Register(r.name, r.offset, r.fields, 1), chip, svd)
    check_fails(lambda r: Register(r.name, r.offset, "MAXCNT:0-7", r.reset), chip, svd)
    check_fails(lambda r: Register(r.name, r.offset, "MAXCNT:0-15/r", r.reset), chip, svd)
