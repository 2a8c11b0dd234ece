"""Unclaimed RAM is filled before a program's first instruction, also where a boot ROM or a clock gate is in the way."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable

import pytest

from hil import boards
from hil.endpoints import Endpoints, SupplyOutput
from hil.images import image_of
from hil.link.session import Session, board_name, fresh_nonce
from hil.standins import StandIn
from hil.targets import open_target
from hil.targets.probe import RamFill
from hil.targets.probe_process import ProbeProcess
from hil.targets.scpi_supply import ScpiSupply
from hil.training.trial.second_sources.figures import Figures
from hil.training.trial.second_sources.unclaimed import UnclaimedRam

VirtualEndpoints = Callable[[str], Endpoints]
H7 = boards.load("stm32h7b3")
BOARDS = [name for name in boards.names() if "pyocd" in boards.load(name).routes]
NIGHTLY = pytest.mark.tier("nightly")


@pytest.mark.parametrize("name", [name if name in ("stm32h7b3", "rp2040", "imxrt1062") else pytest.param(name, marks=NIGHTLY) for name in BOARDS])  # fmt: skip
def test_the_prebuilt_firmware_writes_no_unclaimed_ram_and_answers(
    name: str, virtual_endpoints: VirtualEndpoints, process: ProbeProcess
) -> None:
    board, image = boards.load(name), image_of(name)
    with contextlib.closing(open_target(board, virtual_endpoints(name), process)) as target:
        assert target.probe is not None
        unclaimed, figures = UnclaimedRam(image, board, 3), Figures()
        target.flash(image, fill=unclaimed.fill())
        assert target.filled == (board.ram_divided_by == "chip")
        assert board_name(Session(target.port, fresh_nonce()).hello()) == name
        unclaimed.begin(target.probe, target.filled)
        written = unclaimed.compare(target.probe, figures)
        assert written == {area.start: 0 for area in unclaimed.areas} and written
        assert (figures.wrong, figures.sources) == ({}, {"unclaimed_ram": ["probe"]})


def test_what_was_there_before_is_not_there_after_and_is_named(
    virtual_endpoints: VirtualEndpoints, process: ProbeProcess
) -> None:
    """The fill of another trial, which stays in RAM over a reset, stands for what a firmware writes."""
    image = image_of("stm32h7b3")
    with contextlib.closing(open_target(H7, virtual_endpoints("stm32h7b3"), process)) as target:
        assert target.probe is not None
        ours, figures = UnclaimedRam(image, H7, 3), Figures()
        target.flash(image, fill=ours.fill())
        ours.begin(target.probe, target.filled)
        hidden = RamFill(image.entry, ((0x3000_1000, bytes(8192)), (0x2000_FFFC, b"\1\0\0\0")))
        assert target.probe.start(hidden)
        written = ours.compare(target.probe, figures)
        assert {address: count for address, count in written.items() if count} == {0x3000_0800: 8192, 0x2000_8CF0: 4}
        sentence = figures.wrong["unclaimed_ram"]
        assert "wrote 4 bytes at 0x2000FFFC to 0x2000FFFF of dtcm (" in sentence
        assert sentence.endswith("place them in a section, so that they are counted (docs/memory.md).")


def test_a_program_that_does_not_begin_where_the_image_says_is_not_written_over(
    virtual_endpoints: VirtualEndpoints, process: ProbeProcess
) -> None:
    image = image_of("stm32h7b3")
    with contextlib.closing(open_target(H7, virtual_endpoints("stm32h7b3"), process)) as target:
        assert target.probe is not None
        target.flash(image)
        before = target.probe.read(0x3800_0000, 64)
        never = image.symbols["__image_end"] - 2
        assert not target.probe.start(RamFill(never, ((0x3800_0000, bytes(64)),)))
        assert target.probe.read(0x3800_0000, 64) == before
        assert board_name(Session(target.port, fresh_nonce()).hello()) == "stm32h7b3"


def test_a_gated_memory_is_read_with_its_clock_on_and_the_gate_stays_as_it_was(
    virtual_endpoints: VirtualEndpoints, process: ProbeProcess
) -> None:
    image, gate = image_of("stm32h7b3"), H7.memory_gates["ahb_sram2"]
    with contextlib.closing(open_target(H7, virtual_endpoints("stm32h7b3"), process)) as target:
        assert target.probe is not None
        target.flash(image, fill=RamFill(image.entry, ((0x3001_0000, b"abcdefgh"),)))
        assert board_name(Session(target.port, fresh_nonce()).hello()) == "stm32h7b3"  # the firmware has set its clocks
        register = target.probe.read(gate.address, 4)
        assert not int.from_bytes(register, "little") & gate.bits
        assert target.probe.read_ram(0x3001_0000, 8) == b"abcdefgh"
        assert target.probe.read(gate.address, 4) == register


def test_ram_that_does_not_answer_is_not_compared(virtual_endpoints: VirtualEndpoints, process: ProbeProcess) -> None:
    with contextlib.closing(open_target(H7, virtual_endpoints("stm32h7b3"), process)) as target:
        assert target.probe is not None
        assert target.probe.read_ram(0x6000_0000, 64) is None
        assert len(target.probe.read_ram(0x2000_0000, 64) or b"") == 64


def test_a_supply_that_failed_before_the_greeting_is_no_write_of_the_firmware(tmp_path, process: ProbeProcess) -> None:
    """Its RAM has other words now, which nobody wrote; what is written from then on still shows."""
    said: dict[str, str] = {}

    def announced(line: str) -> Endpoints:
        said.update(json.loads(line))
        return Endpoints("stm32h7b3", "virtual", said["probe"], said["serial"])

    command = [sys.executable, "-m", "hil.standins.virtual", "--board", "stm32h7b3", "--leashed"]
    stand_in, image = StandIn(command, announced, tmp_path / "log", "bench"), image_of("stm32h7b3")
    try:
        with contextlib.closing(open_target(H7, stand_in.endpoints, process)) as target:
            assert target.probe is not None
            unclaimed, figures = UnclaimedRam(image, H7, 3), Figures()
            target.flash(image, fill=unclaimed.fill())
            assert target.filled and not target.probe.has_lost_power()
            with contextlib.closing(ScpiSupply(SupplyOutput(said["supply"], volts=3.3, amps=0.5, channel=1))) as supply:
                supply.switch(on=False)
                supply.switch(on=True)
            assert board_name(Session(target.port, fresh_nonce()).hello()) == "stm32h7b3"
            assert target.probe.has_lost_power()
            assert not unclaimed.begin(target.probe, target.filled)
            assert set(unclaimed.compare(target.probe, figures).values()) == {0} and figures.wrong == {}
            assert target.probe.write_ram(0x3000_1000, b"mine")
            assert sum(unclaimed.compare(target.probe, figures).values()) == 4 and figures.wrong
    finally:
        stand_in.stop()
