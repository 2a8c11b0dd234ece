"""An agent on QEMU that no longer answers: its GDB stub says where the core is, as a probe does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from host_agent import FIRMWARE, tool

from hil.dut import opened
from hil.errors import DeviceFault, RigError
from hil.rig import Bench, Rig

EXAMPLE = FIRMWARE / "examples" / "counter"

BRANCH_TO_ITSELF = b"\xfe\xe7"  # ARM DDI 0403E.e, A7.7.12, encoding T2


def test_an_agent_that_hangs_on_qemu_is_a_fault_of_the_device(tmp_path: Path) -> None:
    tool("arm-none-eabi-gcc"), tool("qemu-system-arm")
    subprocess.run([tool("make"), "-s", "-C", EXAMPLE, f"BUILD={tmp_path}"], check=True)
    with Rig(Bench()) as rig, opened(rig, "mps2-an500", tmp_path / "counter.elf", tmp_path / "log") as dut:
        dut.flash()
        assert dut.agent.greeting
        with pytest.raises(RigError, match="deadline_s=nan: give the seconds"):
            dut.agent.ask(0x20, deadline_s=float("nan"))
        with pytest.raises(RigError, match="must be bytes, not None"):
            dut.agent.ask(0x20, None)  # type: ignore[arg-type]
        assert dut.probe.write_ram(dut.symbols["agent_poll"], BRANCH_TO_ITSELF)
        with pytest.raises(DeviceFault, match="the firmware hangs.*agent_poll"):
            dut.agent.request("echo", deadline_s=3, data=b"")
