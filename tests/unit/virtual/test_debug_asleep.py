"""Which registers and memories a debugger reaches through each access port, and whether it does while the core sleeps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from pyocd.core import exceptions

from hil.standins.virtual import boards
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.machine import Chip
from hil.standins.virtual.debug_port import DebugPort
from hil.standins.virtual.runner import ChipRunner

from .conftest import Board

POWER_UP, WORDS = 0x50000000, 0x23000052
CSW, TAR, DRW, SELECT = 0x0, 0x4, 0xC, 0x8
DBGMCU_CR = {"stm32f746": 0xE0042004, "stm32h7b3": 0x5C001004}
DHCSR, RAM = 0xE000EDF0, 0x20000100


class Probe:
    """A chip with its debug port, its core asleep, and accesses through an access port."""

    def __init__(self, board: str) -> None:
        self.log: list[str] = []
        model = boards.load(board)
        self.chip: Chip = model.build(np.random.default_rng(1), lambda byte: None, lambda *edge: None, self.log.append)
        self.runner = ChipRunner(self.chip)
        self.port: DebugPort = model.ports(self.runner)[0]
        self.port.write_dp(4, POWER_UP)
        self.chip.asleep, self.chip.lockup = True, False

    def read(self, address: int, number: int = 0) -> int:
        self._aim(address, number)
        return self.port.read_ap(DRW)

    def write(self, address: int, value: int, number: int = 0) -> None:
        self._aim(address, number)
        self.port.write_ap(DRW, value)

    def _aim(self, address: int, number: int) -> None:
        self.port.write_dp(SELECT, number << 24)
        self.port.write_ap(CSW, WORDS)
        self.port.write_ap(TAR, address)


@pytest.fixture(params=["stm32f746", "stm32h7b3"])
def stm32(request: pytest.FixtureRequest) -> Iterator[tuple[Probe, int]]:
    yield Probe(request.param), DBGMCU_CR[request.param]


def test_the_access_port_of_a_sleeping_core_needs_dbg_sleep(stm32: tuple[Probe, int]) -> None:
    probe, control = stm32
    for address in (RAM, DHCSR, control):
        with pytest.raises(exceptions.TransferFaultError):
            probe.read(address)
        with pytest.raises(exceptions.TransferFaultError):
            probe.write(address, 0)
    assert sum("DBG_SLEEP" in line for line in probe.log) == 1
    probe.chip.asleep = False
    probe.write(control, 1)
    probe.chip.asleep = True
    probe.write(RAM, 0x12345678)
    assert probe.read(RAM) == 0x12345678 and probe.read(control) == 1
    probe.write(control, 0)
    with pytest.raises(exceptions.TransferFaultError):
        probe.read(RAM)


def test_a_chip_in_reset_does_not_sleep(stm32: tuple[Probe, int]) -> None:
    probe, control = stm32
    probe.chip.hold_reset(True)
    probe.write(control, 1)
    assert probe.read(control) == 1


def test_dbg_sleep_outlasts_a_reset_and_not_the_supply(stm32: tuple[Probe, int]) -> None:
    probe, control = stm32
    probe.chip.asleep = False
    probe.write(control, 1)
    probe.chip.reset()
    assert probe.read(control) == 1
    probe.chip.switch(False, np.random.default_rng(2))
    probe.chip.switch(True, np.random.default_rng(2))
    assert probe.read(control) == 0


@pytest.mark.parametrize("board", ["nrf52840", "imxrt1062"])
def test_other_chips_answer_while_they_sleep(board: str) -> None:
    probe = Probe(board)
    probe.write(RAM, 7)
    assert probe.read(RAM) == 7


def test_blocks_through_drw_are_the_same_as_single_words(stm32: tuple[Probe, int]) -> None:
    """Words, also over the end of the automatic increment of TAR (1 KB), where it wraps (ARM IHI 0031, C2.2.2)."""
    probe, _ = stm32
    probe.chip.asleep = False
    words = list(range(100, 400))
    probe.write(0x20000800 + 0x200, 0)
    probe.port.write_ap(CSW, WORDS & ~0x30 | 0x10)
    probe.port.write_ap(TAR, 0x20000A00)
    probe.port.write_ap_multiple(DRW, words)
    expected: dict[int, int] = {}
    for i, word in enumerate(words):
        expected[0x20000800 + (0x200 + 4 * i) % 0x400] = word
    assert {address: probe.read(address) for address in expected} == expected
    probe.port.write_ap(CSW, WORDS & ~0x30 | 0x10)
    probe.port.write_ap(TAR, 0x20000A00)
    assert probe.port.read_ap_multiple(DRW, 5) == [expected[0x20000A00 + 4 * i] for i in range(5)]
    probe.port.write_ap(TAR, 0x20000BF8)
    assert probe.port.read_ap_multiple(DRW, 4) == [
        expected[address] for address in (0x20000BF8, 0x20000BFC, 0x20000800, 0x20000804)
    ]


@pytest.mark.parametrize("board", ["stm32h7b3", "imxrt1062"])
def test_only_a_cacheable_access_looks_into_the_data_cache(board: str) -> None:
    probe = Probe(board)
    probe.chip.asleep = False
    at = {"stm32h7b3": 0x24000000, "imxrt1062": 0x20200000}[board]
    assert probe.port.ports[0].memory.is_cached
    probe.write(at, 1)
    memory = probe.chip.core.cache.at(at)
    memory.change(np.full_like(memory.kinds, 2))
    probe.chip.core.store(at, (2).to_bytes(4, "little"))
    assert probe.read(at) == 1 and any("the debugger, without CSW.HPROT[3]," in line for line in probe.log)
    cacheable = WORDS | 1 << 27
    probe.port.write_ap(CSW, cacheable)
    probe.port.write_ap(TAR, at)
    assert probe.port.read_ap(DRW) == 2 and probe.port.read_ap(CSW) == cacheable
    probe.port.write_ap(TAR, at)
    assert probe.port.read_ap_multiple(DRW, 2)[0] == 2
    probe.port.write_ap(TAR, at)
    probe.port.write_ap(DRW, 3)
    assert probe.chip.core.peek(at, 4) == (3).to_bytes(4, "little") and probe.read(at) == 1


def test_dbgmcu_of_stm32h7b3_has_one_address_for_each_access_port() -> None:
    probe = Probe("stm32h7b3")
    probe.chip.asleep = False
    probe.write(0xE00E1004, 7)
    assert probe.read(0xE00E1004) == probe.read(0x5C001004) == 0
    assert sum("0xE00E1004 through access port 0" in line for line in probe.log) == 1
    with pytest.raises(exceptions.TransferFaultError):
        probe.read(0x5C001004, number=2)
    probe.chip.asleep = True
    probe.write(0xE00E1004, 7, number=2)  # the way to wake the access port of the core
    assert probe.read(0x5C001004) == 7 and probe.read(0xE00E1000, number=2) & 0xFFF == 0x480


def test_the_core_does_not_find_dbgmcu_at_the_address_of_access_port_2(bare_board: Board) -> None:
    with pytest.raises(ModelFault, match="0x5C001000"):
        bare_board.bus_read(0xE00E1000)
