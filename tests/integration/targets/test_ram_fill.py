"""Unclaimed RAM is filled before a program's first instruction, also where a boot ROM or a clock gate is in the way."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable

import numpy as np
import pytest

from hil import boards
from hil.endpoints import Endpoints, SupplyOutput
from hil.errors import RigError
from hil.images import image_of
from hil.link.session import board_name
from hil.targets.probe import RamFill
from hil.targets.probe_process import ProbeProcess
from hil.targets.scpi_supply import ScpiSupply
from tests.bench_server import BenchServer
from tests.device_at import device_at

VirtualEndpoints = Callable[[str], Endpoints]
H7 = boards.load("stm32h7b3")
BOARDS = [name for name in boards.names() if "pyocd" in boards.load(name).routes]
NIGHTLY = pytest.mark.tier("nightly")


@pytest.mark.parametrize("name", [name if name in ("stm32h7b3", "rp2040") else pytest.param(name, marks=NIGHTLY) for name in BOARDS])  # fmt: skip
def test_the_prebuilt_firmware_writes_no_unclaimed_ram_and_answers(
    name: str, virtual_endpoints: VirtualEndpoints, process: ProbeProcess
) -> None:
    board = boards.load(name)
    with device_at(board, virtual_endpoints(name), process) as dut:
        unclaimed = dut.unclaimed_ram
        unclaimed.fill(3)
        dut.flash()
        assert unclaimed.filled == (board.ram_divided_by == "chip")
        assert board_name(dut.agent.greeting) == name
        assert unclaimed.begin() == unclaimed.filled
        compared = unclaimed.compared()
        assert [(area.start, area.written) for area in compared] == [(area.start, 0) for area in unclaimed.areas]
        assert compared and unclaimed.written() == []


def test_what_was_there_before_is_not_there_after_and_is_named(
    virtual_endpoints: VirtualEndpoints, process: ProbeProcess
) -> None:
    """The fill of another trial, which stays in RAM over a reset, stands for what a firmware writes."""
    with device_at(H7, virtual_endpoints("stm32h7b3"), process) as dut:
        ours = dut.unclaimed_ram
        ours.fill(3)
        dut.flash()
        ours.begin()
        hidden = RamFill(dut.image.entry, ((0x3000_1000, bytes(8192)), (0x2000_FFFC, b"\1\0\0\0")))
        assert dut.probe.start(hidden)
        written = {area.start: area for area in ours.written()}
        (dtcm,) = (area.start for area in ours.areas if area.start <= 0x2000_FFFC < area.start + area.size)
        assert {start: area.written for start, area in written.items()} == {0x3000_0800: 8192, dtcm: 4}
        assert str(written[dtcm]).startswith("4 bytes at 0x2000FFFC to 0x2000FFFF of dtcm (")


def test_a_program_that_does_not_begin_where_the_image_says_is_not_written_over(
    virtual_endpoints: VirtualEndpoints, process: ProbeProcess
) -> None:
    image = image_of("stm32h7b3")
    with device_at(H7, virtual_endpoints("stm32h7b3"), process) as dut:
        dut.flash()
        before = dut.probe.read(0x3800_0000, 64)
        never = image.symbols["__image_end"] - 2
        assert not dut.probe.start(RamFill(never, ((0x3800_0000, bytes(64)),)))
        assert dut.probe.read(0x3800_0000, 64) == before
        assert board_name(dut.agent.greeting) == "stm32h7b3"


def test_a_gated_memory_is_read_with_its_clock_on_and_the_gate_stays_as_it_was(
    virtual_endpoints: VirtualEndpoints, process: ProbeProcess
) -> None:
    image, gate = image_of("stm32h7b3"), H7.memory_gates["ahb_sram2"]
    with device_at(H7, virtual_endpoints("stm32h7b3"), process) as dut:
        dut.flash()
        assert dut.probe.start(RamFill(image.entry, ((0x3001_0000, b"abcdefgh"),)))
        assert board_name(dut.agent.greeting) == "stm32h7b3"  # the firmware has set its clocks
        register = dut.probe.read(gate.address, 4)
        assert not int.from_bytes(register, "little") & gate.bits
        assert dut.probe.read_ram(0x3001_0000, 8) == b"abcdefgh"
        assert dut.probe.read(gate.address, 4) == register


def test_ram_that_does_not_answer_is_not_compared(virtual_endpoints: VirtualEndpoints, process: ProbeProcess) -> None:
    with device_at(H7, virtual_endpoints("stm32h7b3"), process) as dut:
        assert dut.probe.read_ram(0x6000_0000, 64) is None
        assert len(dut.probe.read_ram(0x2000_0000, 64) or b"") == 64


def test_without_a_fill_nothing_is_known_of_what_was_there(
    virtual_endpoints: VirtualEndpoints, process: ProbeProcess
) -> None:
    with device_at(H7, virtual_endpoints("stm32h7b3"), process) as dut:
        dut.flash()
        with pytest.raises(RigError, match=r"call dut\.unclaimed_ram\.fill\(\) before dut\.flash\(\)"):
            dut.unclaimed_ram.written()
        assert not dut.unclaimed_ram.begin()
        assert dut.unclaimed_ram.written() == []
        dut.write(0x3000_1000, ~dut.read(0x3000_1000, np.uint32))
        (area,) = dut.unclaimed_ram.written()
        assert (area.written, area.first, area.last) == (4, 0x3000_1000, 0x3000_1003)


def test_a_supply_that_failed_before_the_greeting_is_no_write_of_the_firmware(tmp_path, process: ProbeProcess) -> None:
    """Its RAM has other words now, which nobody wrote; what is written from then on still shows."""
    said: dict[str, str] = {}

    def announced(line: str) -> Endpoints:
        said.update(json.loads(line))
        return Endpoints("stm32h7b3", "virtual", said["probe"], said["serial"])

    command = [sys.executable, "-m", "hil.standins.virtual", "--board", "stm32h7b3", "--leashed"]
    stand_in = BenchServer(command, announced, tmp_path / "log", "bench")
    try:
        with device_at(H7, stand_in.endpoints, process) as dut:
            unclaimed = dut.unclaimed_ram
            unclaimed.fill(3)
            dut.flash()
            assert unclaimed.filled and not dut.probe.has_lost_power()
            with contextlib.closing(ScpiSupply(SupplyOutput(said["supply"], volts=3.3, amps=0.5, channel=1))) as supply:
                supply.switch(on=False)
                supply.switch(on=True)
            assert board_name(dut.agent.greeting) == "stm32h7b3"
            assert dut.probe.has_lost_power()
            with pytest.raises(RigError, match="nothing is known of what was in unclaimed RAM"):
                unclaimed.written()
            assert not unclaimed.begin()
            assert unclaimed.compared() and unclaimed.written() == []
            assert dut.probe.write_ram(0x3000_1000, b"mine")
            assert [area.written for area in unclaimed.written()] == [4]
    finally:
        stand_in.stop()
