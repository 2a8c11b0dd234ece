"""Clocks, supply, watchdogs and pins of the virtual i.MX RT1062: what a program may do, and what it is stopped for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.standins.virtual.chip.fault import ModelFault

from .teensy import Teensy, booted

CACRR, CBCDR, CBCMR, CSCMR1, CDHIPR, CCGR3 = (0x400FC000 + i for i in (0x10, 0x14, 0x18, 0x1C, 0x48, 0x74))
PLL_ARM, DCDC_REG0, DCDC_REG3 = 0x400D8000, 0x40080000, 0x4008000C
RTWDOG_CS, RTWDOG_CNT, RTWDOG_TOVAL, WDOG1 = 0x400BC000, 0x400BC004, 0x400BC008, 0x400B8000
GPIO4, MUX_EMC_04, GPR29 = 0x401C4000, 0x401F8024, 0x400AC074
US, MS = 10**6, 10**9


@pytest.fixture
def board() -> Teensy:
    return booted()


def to_crystal(board: Teensy) -> None:
    board.modify(CBCMR, 3 << 12, 1 << 12)
    board.modify(CBCDR, 0, 1 << 25)
    board.pass_time(US)


def raise_voltage(board: Teensy) -> None:
    board.modify(DCDC_REG3, 0x1F, 18)
    board.pass_time(50 * US)


def to_pll(board: Teensy, div: int = 100) -> None:
    board.write(PLL_ARM, 0x3000 | div)
    board.write(PLL_ARM, 0x2000 | div)
    board.pass_time(100 * US)
    board.modify(CBCDR, 3 << 8 | 7 << 16, 3 << 8 | 3 << 16)
    board.pass_time(US)
    board.modify(CBCDR, 1 << 25, 0)
    board.pass_time(US)


def test_six_hundred_megahertz_by_the_book(board: Teensy) -> None:
    to_crystal(board)
    assert board.chip.clock.hz == 24_000_000
    raise_voltage(board)
    to_pll(board)
    assert (board.chip.clock.hz, board.chip.ccm.ipg_hz(), board.chip.ccm.per_hz()) == (
        600_000_000,
        150_000_000,
        75_000_000,
    )
    assert board.read(CDHIPR) == 0


@settings(max_examples=30, deadline=None)
@given(st.integers(54, 108), st.integers(1, 8))
def test_the_core_clock_is_the_pll_divided_within_what_the_voltage_allows(div: int, podf: int) -> None:
    board = booted()
    to_crystal(board)
    raise_voltage(board)
    board.modify(CACRR, 7, podf - 1)
    hz = 12_000_000 * div // podf
    if hz > 600_000_000:
        with pytest.raises(ModelFault, match=r"1250 mV allow 600000000 Hz"):
            to_pll(board, div)
    else:
        to_pll(board, div)
        assert board.chip.clock.hz == hz


def test_the_core_is_not_faster_than_its_voltage_allows(board: Teensy) -> None:
    to_crystal(board)
    with pytest.raises(ModelFault, match=r"600000000 Hz, 1150 mV allow 528000000 Hz; raise DCDC_REG3.TRG first"):
        to_pll(board)


def test_a_voltage_counts_once_it_has_settled(board: Teensy) -> None:
    board.modify(DCDC_REG3, 0x1F, 18)
    assert not board.read(DCDC_REG0) >> 31 and board.chip.dcdc.millivolt == 1150
    board.pass_time(50 * US)
    assert board.read(DCDC_REG0) >> 31 and board.chip.dcdc.millivolt == 1250
    to_crystal(board)
    to_pll(board)
    with pytest.raises(ModelFault, match="the core would run at 600000000 Hz"):
        board.modify(DCDC_REG3, 0x1F, 14)


@pytest.mark.parametrize(("address", "clear", "value", "message"), [
    (CBCMR, 3 << 18, 0, "PRE_PERIPH_CLK_SEL changes while the core runs from it"),
    (PLL_ARM, 0, 1 << 12, "the core's clock stops"),
    (PLL_ARM, 0x7F, 80, "the core's clock stops"),
    (CBCDR, 3 << 8, 0, "IPG would run at 396000000 Hz"),
    (CSCMR1, 0x3F, 0, "PERCLK would run at 132000000 Hz"),
    (CSCMR1, 0, 1 << 2 | 1 << 3, None),
    (0x400FC054, 0, 1 << 8, "sets VSTBY"),
    (CBCDR, 0, 1 << 30, "changes reserved bits 0x40000000"),
])  # fmt: skip
def test_what_the_clock_tree_does_not_bear(
    board: Teensy, address: int, clear: int, value: int, message: str | None
) -> None:
    if message is None:
        board.modify(address, clear, value)
    else:
        with pytest.raises(ModelFault, match=message):
            board.modify(address, clear, value)


def test_a_divider_is_left_alone_until_it_is_done(board: Teensy) -> None:
    board.modify(CACRR, 7, 2)
    assert board.read(CDHIPR) == 1 << 16
    with pytest.raises(ModelFault, match="wait for CCM_CDHIPR"):
        board.modify(CACRR, 7, 1)
    board.pass_time(US)
    board.modify(CACRR, 7, 1)


@pytest.fixture(scope="module")
def one_for_all() -> Teensy:
    return booted()


@given(old=st.integers(0, 0xFFFFFFFF), bits=st.integers(0, 0xFFFFFFFF))
@settings(max_examples=60, deadline=None)
def test_set_clear_and_toggle(one_for_all: Teensy, old: int, bits: int) -> None:
    writable = 0x00000C08  # MISC0: REFTOP_SELFBIASOFF, STOP_MODE_CONFIG
    old, bits = old & writable, bits & writable
    misc0 = 0x400D8150
    for offset, expected in ((4, old | bits), (8, old & ~bits), (12, old ^ bits)):
        one_for_all.write(misc0, old | 0x04000000)
        one_for_all.write(misc0 + offset, bits)
        assert one_for_all.read(misc0) == one_for_all.read(misc0 + offset) == expected | 0x04000000


# watchdogs


def test_rtwdog_takes_a_configuration_behind_its_key_only(board: Teensy) -> None:
    with pytest.raises(ModelFault, match="written while it is locked"):
        board.write(RTWDOG_TOVAL, 5)
    board.write(RTWDOG_CNT, 0xD928C520)
    board.write(RTWDOG_TOVAL, 5)
    board.write(RTWDOG_CS, 0x2980 & ~0x800)  # enabled, and not to be changed any more
    with pytest.raises(ModelFault, match="UPDATE was 0"):
        board.write(RTWDOG_CNT, 0xD928C520)
    with pytest.raises(ModelFault, match="neither unlocks nor refreshes"):
        board.write(RTWDOG_CNT, 1)
    with pytest.raises(ModelFault, match="RTWDOG expires"):
        board.pass_time(MS)


def test_the_window_behind_the_key_closes(board: Teensy) -> None:
    board.write(RTWDOG_CNT, 0xD928C520)
    board.pass_time(US)
    with pytest.raises(ModelFault, match="written while it is locked"):
        board.write(RTWDOG_CS, 0x2920)


def test_the_registers_of_wdog1_have_sixteen_bits(board: Teensy) -> None:
    assert (board.read(WDOG1, 2), board.read(WDOG1 + 6, 2), board.read(WDOG1 + 8, 2)) == (0x30, 4, 1)
    board.write(WDOG1 + 8, 0, 2)
    assert board.read(WDOG1 + 8, 2) == 0
    with pytest.raises(ModelFault, match="4 bytes"):
        board.write(WDOG1 + 8, 0)
    with pytest.raises(ModelFault, match="WDE, which this model does not have"):
        board.write(WDOG1, 0x34, 2)


# pins


def test_a_pin_moves_when_gate_direction_and_function_agree(board: Teensy) -> None:
    board.modify(CCGR3, 3 << 12, 0)
    with pytest.raises(ModelFault, match=r"GPIO4_DR_SET .* set CCM_CCGR3.CG6 first"):
        board.write(GPIO4 + 0x84, 1 << 4)
    board.modify(CCGR3, 0, 3 << 12)
    board.write(GPIO4 + 0x84, 1 << 4)
    assert board.edges == []
    board.write(GPIO4 + 0x04, 1 << 4)
    board.write(MUX_EMC_04, 2)
    board.write(MUX_EMC_04, 5)
    board.write(GPIO4 + 0x8C, 1 << 4)
    board.write(GPR29, 1 << 4)  # the fast port has the pad
    board.write(GPIO4 + 0x84, 1 << 4)
    assert [edge[:3] for edge in board.edges] == [("GPIO4", 4, level) for level in (1, 0, 1, 0)]
