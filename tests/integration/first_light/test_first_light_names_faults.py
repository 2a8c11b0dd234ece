"""Each fault of a new board is named by the stage whose assumption it breaks, and by no earlier one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hil import boards
from hil.dut import opened
from hil.endpoints import Endpoints
from hil.first_light import BringUp, Result, Stage, bring_up
from hil.first_light.facts import facts_of
from hil.first_light.stage_list import HOUSE
from hil.images import image_of
from hil.rig import Bench, Rig
from hil.rig_toml import BenchBoard
from hil.standins import start_virtual

KINDS = {kind.name: kind for kind in HOUSE}
GOOD = ("pass", "not possible here")
ROOM = 0x8_0000  # offset in the RP2040's flash at which data begin: the sector of the stage


@pytest.fixture(autouse=True)
def _virtual() -> None:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")


def up_to(name: str) -> list[Stage]:
    """Return a stage and those that it needs, in the order of the house."""
    wanted, ahead = set(), [name]
    while ahead:
        one = ahead.pop()
        wanted.add(one)
        ahead += KINDS[one].needs
    return [kind() for kind in HOUSE if kind.name in wanted]


def results(rig: Rig, board: str, folder: Path, last: str, *inject: str) -> list[Result]:
    with opened(rig, board, None, folder, inject=inject, serial_log=False) as dut:
        return bring_up(BringUp(dut, facts_of(board), folder), up_to(last))


@pytest.mark.parametrize(
    ("board", "fault", "stage", "outcome", "said"),
    [
        ("nrf52840", "locked:1", "debug port", "blocked", r"is locked \(APPROTECT\): if its contents may be lost"),
        ("stm32f746", "locked:1", "debug port", "fail", r"FLASH_OPTCR\.RDP is 0xBB00, .* Nothing was erased"),
        ("stm32h7b3", "locked:2", "debug port", "fail", r"FLASH_OPTSR_CUR\.RDP is 0xCC00, .* Nothing was erased"),
        ("rp2040", "ram_stuck:0x20010003:4", "RAM", "fail", r"first at 0x20010003: .*\(bits 0x10\)"),
        (
            "rp2040",
            "uart_slow:40",
            "UART",
            "fail",
            "wrong to the board, .* wrong to the host: .*the rates of both ends",
        ),
        ("stm32f746", "uart_slow:40", "UART", "fail", "wrong to the board, .* wrong to the host: .*the rates of both"),
        ("rp2040", "uart_rx_drop:100", "UART", "fail", "1 of 128 bytes lost to the board: bytes are lost"),
        ("nrf52840", "uart_rx_drop:100", "UART", "fail", "1 of 128 bytes lost to the board: bytes are lost"),
        ("rp2040", "uart_tx_drop:100", "UART", "fail", "1 of 128 bytes lost to the host: bytes are lost"),
        ("rp2040", "clock_slow:50", "clock by a pin", "fail", r"11\.\d+ MHz .* 12 MHz within 1 % is expected"),
        ("nrf52840", "clock_slow:50", "clock by a pin", "fail", r"60\.\d+ MHz .* 64 MHz within 1 % is expected"),
        ("rp2040", "marker_stuck:0", "energy window", "blocked", "has not seen both edges of the marker"),
        ("rp2040", f"flash_stuck:{ROOM + 16}:3", "flash sector", "fail", "0x10080000 did not take 4,096 bytes"),
        ("stm32h7b3", f"flash_stuck:{ROOM + 16}:3", "flash sector", "fail", "0x08080000 did not take 8,192 bytes"),
    ],
)
def test_a_fault_is_named_by_its_stage(
    tmp_path: Path, board: str, fault: str, stage: str, outcome: str, said: str
) -> None:
    with Rig(Bench()) as rig:
        found = results(rig, board, tmp_path, stage, fault)
    *before, last = found
    assert {one.outcome for one in before} <= set(GOOD), before
    assert (last.name, last.outcome) == (stage, outcome), last
    assert re.search(said, last.seen), last.seen


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Endpoints]:
    """A virtual RP2040, for a rig.toml that names it as if it were attached."""
    stand_in = start_virtual(boards.load("rp2040"), image_of("rp2040"), tmp_path / "board.log")
    yield stand_in.endpoints
    stand_in.stop()


def test_another_chip_is_named_before_anything_is_written(there: Endpoints, tmp_path: Path) -> None:
    bench = Bench(board=[BenchBoard(name="stm32f746", probe=there.probe, serial=there.serial)])
    with Rig(bench) as rig:
        found = {one.name: one for one in results(rig, "stm32f746", tmp_path, "UART")}
    assert found["debug port"].outcome == "pass"
    assert found["target identity"].outcome == "blocked"
    assert (
        "is that of rp2040" in found["target identity"].seen and "nothing was erased" in found["target identity"].seen
    )
    assert found["stub from RAM"].outcome == found["UART"].outcome == "not reached"


def test_a_meter_that_is_unplugged_is_named_by_the_window(there: Endpoints, tmp_path: Path) -> None:
    gone = BenchBoard(name="rp2040", probe=there.probe, serial=there.serial, meter="TCPIP0::127.0.0.1::9::SOCKET")
    with Rig(Bench(board=[gone])) as rig:
        *before, last = results(rig, "rp2040", tmp_path, "energy window")
    assert {one.outcome for one in before} <= set(GOOD)
    assert last.outcome == "blocked" and "check its cable, its power and its address" in last.seen


def test_a_board_that_vanishes_is_the_rigs_fault(tmp_path: Path) -> None:
    """As behind a hub that drops its devices."""
    with Rig(Bench()) as rig:
        found = results(rig, "rp2040", tmp_path, "UART", "exit_after:40000")
    bad = [one for one in found if one.outcome not in GOOD]
    assert bad[0].outcome == "blocked" and {one.outcome for one in bad[1:]} <= {"not reached", "blocked"}


def test_a_port_that_leads_nowhere_is_named_by_the_uart(there: Endpoints, tmp_path: Path) -> None:
    master, slave = os.openpty()
    try:
        wrong = BenchBoard(name="rp2040", probe=there.probe, serial=os.ttyname(slave))
        with Rig(Bench(board=[wrong])) as rig:
            *before, last = results(rig, "rp2040", tmp_path, "UART")
    finally:
        os.close(master)
        os.close(slave)
    assert {one.outcome for one in before} <= set(GOOD)
    assert last.outcome == "fail" and "none of 128 bytes to the board" in last.seen and "no byte passes" in last.seen
