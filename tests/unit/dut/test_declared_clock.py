"""The clock of a device: that of the catalogue, or the one that the test declares for its firmware."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hil.boards import load
from hil.dut.dut import Dut
from hil.endpoints import Endpoints
from hil.errors import RigError
from hil.images import Image
from hil.rig import Taken
from hil.targets.probe_process import ProbeProcess


def device(tmp_path: Path, **opened: Any) -> Dut:
    taken = Taken(load("stm32f746"), Endpoints("stm32f746", "virtual", None, None), ProbeProcess())
    return Dut(taken, Image(tmp_path / "mine.elf", "0" * 64), tmp_path, **opened)


def test_a_test_may_declare_the_clock(tmp_path: Path) -> None:
    dut = device(tmp_path)
    assert dut.clock == 216_000_000
    dut.clock = 168_000_000
    assert dut.clock == dut.record.clock_hz == dut.record.to_json()["clock_hz"] == 168_000_000
    assert device(tmp_path, clock_hz=16_000_000).clock == 16_000_000


@pytest.mark.parametrize("clock", [0, -1, 1e6, True, "168 MHz", None])
def test_what_is_no_clock_is_refused(tmp_path: Path, clock: Any) -> None:
    dut = device(tmp_path)
    with pytest.raises(RigError, match="give the clock of the core in Hz"):
        dut.clock = clock
    assert dut.clock == 216_000_000
