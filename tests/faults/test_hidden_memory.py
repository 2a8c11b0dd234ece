"""Firmware with a section of its own that the linker script places beside the areas: all of it is counted."""

from pathlib import Path

import pytest
from firmware_copy import build_changed, need_compiler

from hil.rig import Rig
from hil.rig_toml import Bench
from hil.trial import TrialSpec, run_trial

HIDDEN, SCRIPT, LINE = 8192, "ports/common/sections.ld", "    __flash_start = ORIGIN(IMAGE);"
SPEC = TrialSpec("stm32h7b3", "cls1", steps=1, batch=2, evaluate=0)


@pytest.mark.tier("nightly")
@pytest.mark.parametrize(("region", "memory"), [("DMA", "ahb_sram1"), ("DATA", "dtcm"), ("ARENA", "axi_sram")])
def test_a_section_beside_the_areas_is_counted(
    region: str, memory: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    need_compiler()
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    section = f"    .hidden (NOLOAD) : {{ . += {HIDDEN}; }} > {region} :NONE\n{LINE}"
    elf = build_changed(tmp_path_factory, tmp_path / "firmware", "stm32h7b3", SCRIPT, LINE, section)
    with Rig(Bench(), tmp_path, "virtual") as rig:
        plain, hidden = (run_trial(SPEC, rig, tmp_path, each) for each in (None, elf))
    assert (plain.verdict, hidden.verdict) == ("pass", "pass"), hidden.reason
    assert plain.sram is not None and hidden.sram is not None
    assert (hidden.sram.sections, hidden.sram.total) == (HIDDEN, plain.sram.total + HIDDEN)
    rows = [row for row in hidden.sram.rows if row.claim.is_own_part]
    assert [(row.claim.memory, row.claim.owner, row.used) for row in rows] == [(memory, "section .hidden", HIDDEN)]
