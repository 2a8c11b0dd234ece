"""A board that rig.toml names, with a switch of its power: a virtual board that stays, as one on a desk does."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hil.dut import Quiet, Unexpected, opened
from hil.endpoints import Endpoints
from hil.errors import Blocked, RigError
from hil.rig import Bench, Rig
from hil.rig_toml import BenchBoard, PowerEntry
from hil.targets.probe import Probe, RamFill
from tests.bench_server import BenchServer
from tests.faults.campaign.port import Port
from tests.faults.lines.exported import ser2net
from tests.faults.lines.proxy import proxied
from tests.foreign import build

BOARD = "stm32f746"


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    monkeypatch.setattr("hil.rig.locks.FOLDER", tmp_path / "locks")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    found: dict[str, Any] = {}

    def announced(line: str) -> Endpoints:
        found.update(json.loads(line))
        return Endpoints(BOARD, "virtual", found["probe"], found["serial"])

    command = [sys.executable, "-m", "hil.standins.virtual", "--board", BOARD, "--leashed"]
    bench = BenchServer(command, announced, tmp_path / "bench.log", "bench")
    yield found
    bench.stop()


def test_power_probe_and_port_of_an_attached_board(said, tmp_path):
    power = PowerEntry(supply=said["supply"], channel=1, volts=3.3, amps=0.5)
    named = BenchBoard(name=BOARD, probe=said["probe"], serial=said["serial"], power=power)
    elf = build(tmp_path, BOARD)
    with Rig(Bench(board=[named])) as rig, opened(rig, BOARD, elf, tmp_path / "log") as dut:
        assert dut.flash() is True and dut.record.flash_cycles == 1
        assert dut.endpoints.reality == "hardware" and dut.reality == "virtual"  # its probe says so
        dut.serial.expect("ready")
        dut.write("steps", 77)
        assert 0 < dut.stack_peak < 4096
        assert said["supply"] in dut.power.cycle() and dut.record.power_cycles == 1
        with pytest.raises(RigError, match="not painted since the board was switched on"):
            _ = dut.stack_peak  # it would be the whole stack
        dut.serial.write(b"t")
        dut.serial.expect("step 1 .*\n")  # its memory is lost, the program is in the flash
        assert dut.read("steps") == 1 and dut.record.flash_cycles == 1
        dut.serial.write(b"w")
        with pytest.raises(Quiet, match="was expected on .*check the serial port, its rate") as seen:
            dut.serial.expect("step 2", timeout=0.5)  # it sleeps: device or line
        assert isinstance(seen.value, Blocked)
        dut.reset()
        dut.serial.expect("ready")
        dut.serial.write(b"h")
        with pytest.raises(Unexpected, match="the firmware hangs: .*train_badly"):
            dut.serial.expect("step", timeout=0.5)
    bench = Bench(board=[BenchBoard(name=BOARD, serial=said["serial"])])
    with Rig(bench) as rig, opened(rig, BOARD, elf, tmp_path / "log") as dut:
        with pytest.raises(Blocked, match=r"stm32f746 has no debug probe here: name it in rig\.toml"):
            dut.read("steps")
        with pytest.raises(Blocked, match=r"nothing can reset stm32f746 here: name its probe in rig\.toml"):
            dut.reset()
    bench = Bench(board=[BenchBoard(name=BOARD, probe=said["probe"])])
    with Rig(bench) as rig, opened(rig, BOARD, elf, tmp_path / "log") as dut:  # all but the port is there
        dut.flash()
        assert dut.read("linear.rows") == 4
        with pytest.raises(Blocked, match=r"stm32f746 has no serial port here: name it in rig\.toml"):
            dut.serial.expect("ready")


def test_a_port_that_goes_during_the_reset_and_comes_back_under_another_name(said, tmp_path, monkeypatch):
    port = Port(said["serial"], tmp_path / "tty", lambda side, count: count)
    start = Probe.start

    def start_and_lose_the_port(self: Probe, *fill: RamFill | None) -> bool:
        filled = start(self, *fill)
        port.gone()
        threading.Timer(0.5, port.back).start()
        return filled

    monkeypatch.setattr(Probe, "start", start_and_lose_the_port)
    named = BenchBoard(name=BOARD, probe=said["probe"], serial=str(tmp_path / "tty"))
    with (
        contextlib.closing(port),
        Rig(Bench(board=[named])) as rig,
        opened(rig, BOARD, None, tmp_path / "log") as dut,
    ):
        dut.flash()
        assert dut.agent.greeting["board"]


@pytest.mark.parametrize("kind", ["socket", "rfc2217"])
def test_a_port_on_a_network_that_is_cut_during_the_reset(said, tmp_path, monkeypatch, kind):
    start = Probe.start
    with ser2net(said["serial"], kind, tmp_path) as exported, proxied(exported) as proxy:

        def start_and_cut(self: Probe, *fill: RamFill | None) -> bool:
            filled = start(self, *fill)
            proxy.cut()
            return filled

        monkeypatch.setattr(Probe, "start", start_and_cut)
        named = BenchBoard(name=BOARD, probe=said["probe"], serial=f"{kind}://{proxy.address}")
        with Rig(Bench(board=[named])) as rig, opened(rig, BOARD, None, tmp_path / "log") as dut:
            dut.flash()
            assert dut.agent.greeting["board"]
