"""pyOCD's own target of the RP2350 on the virtual chip: it finds both cores by ADIv6, flashes, resets and halts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from pyocd.core.session import Session
from pyocd.core.target import Target
from pyocd.flash.loader import FlashLoader

from hil.standins.virtual.boards import load
from hil.standins.virtual.probe import VirtualProbe
from hil.standins.virtual.runner import ChipRunner
from tests.unit.virtual import rp2350_programs as programs
from tests.unit.virtual.pico2 import CODE, XIP, behind_start, image

OPTIONS = {
    "connect_mode": "halt", "no_config": True, "resume_on_disconnect": True, "chip_erase": "sector",
    "reset_type": "sysresetreq", "hide_programming_progress": True,
}  # fmt: skip
END_OF_MARKER = XIP + CODE + 0x140 + 14  # its loop is over


@pytest.fixture
def log() -> list[str]:
    return []


@pytest.fixture
def session(log: list[str]) -> Iterator[Any]:
    model = load("rp2350")
    chip = model.build(np.random.default_rng(1), lambda byte: None, lambda *edge: None, log.append)
    runner = ChipRunner(chip)
    runner.start()
    probe = VirtualProbe(runner, "virtual", model.ports(runner), model.reset_line)
    try:
        with Session(probe, target_override="rp2350", options=OPTIONS) as one:
            yield one
    finally:
        runner.close()


def flash(session: Any, data: bytes) -> None:
    loader = FlashLoader(session)
    loader.add_data(XIP, data)
    loader.commit()


def test_both_cores_are_found(session: Any) -> None:
    assert sorted(session.target.cores) == [0, 1]
    for core in session.target.cores.values():
        assert core.read32(0xE000ED00) == 0x411FD210 and {e.name for e in core.extensions} >= {"DSP", "FPU", "SEC"}
        assert len(core.dwt.watchpoints) == 4 and core.fpb.available_breakpoints == 8


def test_a_new_chip_waits_in_usb_boot_and_is_flashed(session: Any, log: list[str]) -> None:
    """In USB boot the core is Non-secure; pyOCD asks for the Secure state before it uses the boot ROM's routines."""
    assert any("waits in USB boot" in line for line in log)
    assert session.target.get_security_state() is Target.SecurityState.SECURE
    data = image(behind_start(programs.MARKER)) + np.random.default_rng(2).bytes(20_000)
    flash(session, data)
    assert bytes(session.target.read_memory_block8(XIP, len(data))) == data


def test_flashed_again_after_a_halt_at_the_reset(session: Any) -> None:
    """The ROM has not run, so that the flash algorithm has to load the salts of the redundancy coprocessor."""
    for program in (programs.MARKER, programs.ECHO):
        session.target.reset_and_halt()
        flash(session, image(behind_start(program)))
    assert bytes(session.target.read_memory_block8(XIP + CODE + 0x140, 8)) == programs.ECHO[:8]


def test_halt_at_the_reset_and_at_a_breakpoint(session: Any) -> None:
    target = session.target
    flash(session, image(behind_start(programs.MARKER)))
    target.reset_and_halt()
    assert target.read_core_register("pc") == target.read32(4) & ~1
    target.set_breakpoint(END_OF_MARKER)
    target.resume()
    for _ in range(1000):
        if target.get_state() is Target.State.HALTED:
            break
    assert target.read_core_register("pc") == END_OF_MARKER and target.read_core_register("r2") == 0
    target.remove_breakpoint(END_OF_MARKER)


def test_core_1_halts_and_goes_on(session: Any) -> None:
    core = session.target.cores[1]
    core.halt()
    assert core.get_state() is Target.State.HALTED
    core.resume()
    assert core.get_state() is Target.State.SLEEPING
