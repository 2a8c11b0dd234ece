"""Registers: what is not in the manual is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.registers import Block, Register, parse_fields

from .conftest import Board


class Sample(Block):
    SIZES = (1, 2, 4)
    REGISTERS = (
        Register("CR", 0x00, "EN:0 MODE:4-6 READY:8/r LATER:12/x", 0x80000000),
        Register("SR", 0x04, "DONE:0/c ERROR:5/c"),
        Register("KEYR", 0x08, "KEY:0-31/w"),
    )

    def __init__(self) -> None:
        super().__init__("SAMPLE", 0x40000000)
        self.keys: list[int] = []

    def write_keyr(self, _old: int, _new: int, acting: int) -> None:
        self.keys.append(acting)


@given(st.integers(0, 0xFFFFFFFF))
def test_a_write_is_taken_exactly_when_it_touches_listed_bits_only(value: int) -> None:
    block = Sample()
    writable, unmodelled, read_only = 0x71, 0x1000, 0x100
    reserved_ok = (value ^ 0x80000000) & ~(writable | unmodelled | read_only) & 0xFFFFFFFF == 0
    if reserved_ok and not value & unmodelled:
        block.write(0, 4, value)
        assert block.read(0, 4) == value & writable | 0x80000000
    else:
        with pytest.raises(ModelFault, match="SAMPLE_CR"):
            block.write(0, 4, value)
        assert block.read(0, 4) == 0x80000000


def test_reserved_bits_and_unmodelled_bits_are_told_apart() -> None:
    with pytest.raises(ModelFault, match="reserved bits 0x00000002"):
        Sample().write(0, 4, 0x80000002)
    with pytest.raises(ModelFault, match="sets LATER, which this model does not have"):
        Sample().write(0, 4, 0x80001000)


def test_flags_are_cleared_by_ones_in_the_bytes_written() -> None:
    block = Sample()
    block.value["SR"] = 0x21
    block.write(4, 1, 0x20)
    assert block.read(4, 4) == 0x01
    block.write(5, 1, 0)
    assert block.read(4, 4) == 0x01


def test_write_only_bits_act_and_read_as_zero() -> None:
    block = Sample()
    block.write(8, 4, 0x45670123)
    assert block.keys == [0x45670123]
    assert block.read(8, 4) == 0


def test_bytes_keep_their_neighbours() -> None:
    block = Sample()
    block.write(0, 4, 0x80000071)
    block.write(0, 1, 0x11)
    assert block.read(0, 4) == 0x80000011
    assert block.read(3, 1) == 0x80


@pytest.mark.parametrize("offset", [0x0C, 0x40, 0x3FC])
def test_an_offset_without_a_register_is_refused(offset: int) -> None:
    with pytest.raises(ModelFault, match="no register"):
        Sample().read(offset, 4)


def test_without_its_clock_a_block_names_the_cure() -> None:
    block = Sample()
    block.clocked, block.clock_name = False, "RCC_X.SAMPLEEN"
    with pytest.raises(ModelFault, match=r"clock is off; set RCC_X\.SAMPLEEN first"):
        block.read(0, 4)


def test_overlapping_fields_are_an_error() -> None:
    with pytest.raises(ValueError, match="overlaps"):
        parse_fields("A:0-3 B:3")


def test_every_register_of_the_chip_takes_its_reset_value_back(bare_board: Board) -> None:
    """Read, then write the same: a program that leaves reserved bits alone must never be refused for them."""
    bare_board.chip.rcc.value["AHB1ENR"] = 1
    bare_board.chip.rcc.value["AHB4ENR"] = 0x7FF
    bare_board.chip.rcc.value["APB2ENR"] = 0x10
    bare_board.chip.rcc.value["APB4ENR"] = 0x2
    bare_board.chip.set_gates()
    refused = []
    for block in bare_board.chip.blocks:
        for register in block.REGISTERS:
            if register.acting or register.name in ("LCKR", "CR3"):
                continue
            value = block.read(register.offset, 4) & ~register.clearing
            try:
                block.write(register.offset, 4, value)
            except ModelFault as fault:
                refused.append(str(fault))
            if block.read(register.offset, 4) != block.read(register.offset, 4):
                refused.append(f"{block.name}_{register.name} reads differently twice")
    assert refused == []
