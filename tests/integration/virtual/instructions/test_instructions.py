"""Every class of instructions on every virtual core: what the core has is executed as QEMU does, the rest is undefined."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from hil.boards import load, names
from hil.standins.virtual.chip.machine import Machine
from tests.unit.virtual import nrf, pico, pico2, teensy
from tests.unit.virtual.conftest import Board as Stm32h7b3
from tests.unit.virtual.f746 import F746

from .program import (
    FAULT,
    M0PLUS,
    M4,
    M7,
    M7_SINGLE,
    M33,
    NO_COPROCESSOR,
    UNDEFINED_INSTRUCTION,
    Core,
    cases,
    draw,
    on_qemu,
    on_virtual,
)

SEEDS = range(8)
PLACES = (
    "APSR",
    *(f"r{i}" for i in range(7)),
    "CFSR",
    *(f"[{4 * i}]" for i in range(8)),
    *(f"s{i}" for i in range(8)),
    "FPSCR",
)
CFSR = PLACES.index("CFSR")
SLEEP = b"\x30\xbf\xfd\xe7"  # 1: wfi; b 1b

pytestmark = pytest.mark.skipif(
    not (shutil.which("arm-none-eabi-gcc") and shutil.which("qemu-system-arm")),
    reason="needs arm-none-eabi-gcc and qemu-system-arm",
)


def stm32h7b3() -> Machine:
    board = Stm32h7b3()
    board.load(SLEEP)
    board.run()
    return board.chip


def stm32f746() -> Machine:
    board = F746()
    board.put(0x08000000, struct.pack("<256I", 0x20010000, 0x08000401, *[0] * 254) + SLEEP)
    board.chip.reset()
    board.chip.advance()
    return board.chip


def nrf52840() -> Machine:
    board = nrf.Dk()
    board.load(SLEEP)
    board.run()
    return board.chip


def rp2040() -> Machine:
    board = pico.Pico()
    board.load(pico.image(pico.behind_start(SLEEP)))
    board.run()
    return board.chip


def rp2350() -> Machine:
    return pico2.started().chip


def imxrt1062() -> Machine:
    return teensy.booted().chip


BOARDS: dict[str, tuple[Core, Callable[[], Machine]]] = {
    "stm32h7b3": (M7, stm32h7b3), "stm32f746": (M7_SINGLE, stm32f746), "imxrt1062": (M7, imxrt1062),
    "nrf52840": (M4, nrf52840), "rp2040": (M0PLUS, rp2040), "rp2350": (M33, rp2350),
}  # fmt: skip


@cache
def expected(core: Core, seed: int) -> np.ndarray:
    """Return the results of QEMU, in which the instructions that the core lacks are undefined."""
    with TemporaryDirectory() as folder:
        return on_qemu(core, draw(seed), Path(folder))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("board", BOARDS)
def test_every_class(board: str, seed: int, tmp_path: Path) -> None:
    core, start = BOARDS[board]
    found, known = on_virtual(core, start(), draw(seed), tmp_path).tolist(), expected(core, seed).tolist()
    wrong = []
    for i, (each, case) in enumerate(cases()):
        if each.needs in core.has:
            columns = zip(PLACES, found[i], known[i], strict=False)  # without an FPU there are fewer
            differing = [f"{place} 0x{a:08X}, QEMU 0x{b:08X}" for place, a, b in columns if a != b]
            if differing:
                wrong.append(f"{each.name}: {case!r}: {'; '.join(differing)}")
        elif not found[i][CFSR] & FAULT or found[i][CFSR] & ~(FAULT | UNDEFINED_INSTRUCTION | NO_COPROCESSOR):
            wrong.append(f"{each.name}: {case!r} is executed, and {core.name} does not have it")
    assert not wrong, f"{len(wrong)} of {len(cases())}\n" + "\n".join(wrong)


@pytest.mark.parametrize("board", sorted(BOARDS.keys() & set(names())))
def test_the_core_is_the_one_of_the_catalogue(board: str) -> None:
    entry, core = load(board), BOARDS[board][0]
    assert core.name.split()[0] == entry.core
    has = {"fpv5-d16": {"sp", "fpv5", "dp"}, "fpv5-sp-d16": {"sp", "fpv5"}, "fpv4-sp-d16": {"sp"}, "none": set()}[
        entry.fpu
    ]
    assert core.has & {"sp", "fpv5", "dp"} == has


@pytest.mark.parametrize("core", [M0PLUS, M4, M7, M33], ids=lambda core: core.name)
def test_the_table_agrees_with_qemu(core: Core) -> None:
    """QEMU's Cortex-M0 executes IT, CBZ and masks of Armv7-M, so that it cannot witness what Armv6-M lacks."""
    known = expected(core, 0).tolist()
    for i, (each, case) in enumerate(cases()):
        has = each.needs in core.has and "udf" not in case
        if has or core is not M0PLUS:
            assert bool(known[i][CFSR] & FAULT) is not has, (each.name, case)
