"""Two virtual boards in one test: each is read, halted and reset through a probe of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from hil.dut import opened
from hil.rig import Bench, Rig
from tests.foreign import build

BOARD = "stm32f746"


def test_each_device_keeps_its_own_probe(tmp_path: Path) -> None:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    elf = build(tmp_path, BOARD)
    with Rig(Bench(), reality="virtual") as rig, opened(rig, BOARD, elf, tmp_path / "one") as one:
        one.flash()
        one.write("steps", 11)
        with opened(rig, BOARD, elf, tmp_path / "two") as two:
            two.flash()
            two.write("steps", 22)
            assert (one.read("steps"), two.read("steps")) == (11, 22)
            one.halt()
            assert two.serial.expect("ready") == 0
            two.serial.write(b"t")
            two.serial.expect("step 23 ")
            one.resume()
            two.halt()
            one.serial.expect("ready")
            one.serial.write(b"t")
            one.serial.expect("step 12 ")
            assert len(set(rig._probes.pids)) == 2
        with opened(rig, BOARD, elf, tmp_path / "three") as three:
            three.flash()
            assert len(rig._probes.pids) == 2  # that of the second is used again
