"""The committed images on emulated chips that have an MPU: where its regions hold, and what lies under them."""

from __future__ import annotations

import numpy as np
import pytest

from hil import boards
from hil.images import image_of
from hil.standins.virtual import boards as virtual
from hil.standins.virtual.chip.machine import Chip, Pace

MPU_TYPE, MPU_CTRL, MPU_RNR, MPU_RBAR, MPU_RASR = 0xE000ED90, 0xE000ED94, 0xE000ED98, 0xE000ED9C, 0xE000EDA0
ENABLE, HFNMIENA, PRIVDEFENA = 1, 2, 4


def started(board: str) -> Chip:
    """Return a chip whose program waits for its host."""
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    chip = virtual.load(board).build(np.random.default_rng(1), lambda _: None, lambda *_: None, lambda _: None)
    flash = max((one for one in boards.load(board).memory if one.kind == "flash"), key=lambda one: one.size)
    chip.contents[:] = 0xFF
    for address, data in image_of(board).segments:
        chip.contents[address - flash.start :][: len(data)] = np.frombuffer(data, np.uint8)
    chip.core.code_changed()
    chip.power_on()
    while chip.advance() is not Pace.WAIT:
        assert chip.fault is None, chip.fault
    return chip


@pytest.mark.parametrize("board", ["stm32h7b3", "stm32f746", "nrf52840", "imxrt1062"])
def test_the_regions_hold_at_every_priority_and_all_else_is_no_access(board: str) -> None:
    """HFNMIENA: without it the default map, which caches flash, holds under FAULTMASK (ARM DDI 0403E.e, B3.5.4). A region without
    access under all others: a Cortex-M7 may read ahead where no region lies (Arm, erratum 1013783)."""
    bus = started(board).bus
    assert bus.read(MPU_CTRL, 4) == ENABLE | HFNMIENA
    found = []
    for number in range(bus.read(MPU_TYPE, 4) >> 8 & 0xFF):
        bus.write(MPU_RNR, 4, number)
        found.append((bus.read(MPU_RBAR, 4) & ~0x1F, bus.read(MPU_RASR, 4)))
    (base, attributes), *others = found
    assert (base, attributes) == (0, 1 << 28 | 31 << 1 | ENABLE), "4 GB, no access, never execute"
    assert all(region >> 24 & 7 for _, region in others if region & ENABLE), "each of the others allows something"
