"""The agent as a library: the example beside newlib, built by CMake from what `hil agent --copy` writes, asked by tests of a stranger on QEMU."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hil.commands.main import main
from hil.session.tracker import NOTHING_JUDGED

TESTS = '''
import struct

import numpy as np
import pytest

from hil.link.failures import Refused


class Reference:
    def step(self, index):
        return {"sums": np.cumsum(np.arange(4, dtype=np.float32) + np.float32(index))}


def test_asks(hil_dut, hil_compare):
    hil_dut.serial.expect("ready")
    run = hil_compare(Reference(), exact=True)
    for step in range(3):
        body = (np.arange(4, dtype=np.float32) + np.float32(step)).tobytes()
        run.step(step, {"sums": np.frombuffer(hil_dut.agent.ask(0x20, body), np.float32)})


def test_the_longest_body_both_ways(hil_dut):
    numbers = np.arange(256, dtype=np.float32)
    reply = np.frombuffer(hil_dut.agent.ask(0x20, numbers.tobytes()), np.float32)
    assert (reply == np.cumsum(numbers)).all()
    with pytest.raises(Exception, match="has 1,028 bytes, of at most 1,024: split it"):
        hil_dut.agent.ask(0x20, bytes(1028))


def test_a_long_request_is_waited_for(hil_dut):
    assert hil_dut.agent.ask(0x21, b"\\x02") == b""


def test_errors(hil_dut):
    with pytest.raises(Refused, match="the handler of request 0x20 in the firmware returned the error 7") as refused:
        hil_dut.agent.ask(0x20, b"odd")
    assert (refused.value.code, refused.value.a) == ("own_error", 7)
    with pytest.raises(Refused, match=r"has no request 0x3f: register it with HIL_REQUEST\\(0x3f, handler\\)"):
        hil_dut.agent.ask(0x3F)
    with pytest.raises(Exception, match="0x40 is no number of a request of your own: they are 0x20 to 0x3f"):
        hil_dut.agent.ask(0x40)
    with pytest.raises(Exception, match="must be bytes, not 'text': encode it"):
        hil_dut.agent.ask(0x20, "text")


def test_what_nobody_catches(hil_dut):
    hil_dut.agent.ask(0x21)


def test_greets_and_asks_nothing(hil_dut):
    hil_dut.agent
'''  # fmt: skip


@pytest.fixture(scope="module")
def elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for tool in ("arm-none-eabi-gcc", "cmake", "qemu-system-arm"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    folder = tmp_path_factory.mktemp("newlib")
    assert main(["agent", "--copy", str(folder / "agent")]) == 0
    for words in (
        ("-S", folder / "agent/examples/newlib", "-B", folder / "build", "--toolchain", "arm-none-eabi.cmake"),
        ("--build", folder / "build"),
    ):
        done = subprocess.run(
            ["cmake", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        assert done.returncode == 0 and "warning" not in done.stdout, done.stdout
    return folder / "build/newlib.elf"


def test_requests_of_ones_own_beside_newlib(elf: Path, strange: Callable, tmp_path: Path) -> None:
    done = strange(tmp_path, TESTS, "--board=mps2-an386", f"--elf={elf}")
    verdicts = {
        each.test.rpartition("::")[2].partition("[")[0]: (each.verdict, each.reason) for each in done.read.tests
    }
    last = verdicts.pop("test_what_nobody_catches")
    assert last == ("refused", "the handler of request 0x21 in the firmware returned the error 7.")
    greeted = verdicts.pop("test_greets_and_asks_nothing")
    assert greeted == ("skipped", NOTHING_JUDGED)
    assert len(verdicts) == 4 and {verdict for verdict, _ in verdicts.values()} == {"pass"}, verdicts
