"""The doctor, against a virtual board that rig.toml names as if it were attached, and against what is not there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hil import boards
from hil.commands.doctor import NOTE, OK, WRONG, Check, examine
from hil.commands.main import main
from hil.endpoints import Endpoints
from hil.errors import Blocked
from hil.images import image_of
from hil.rig import Rig
from hil.rig.discover import AttachedDevice
from hil.rig_toml import Bench, BenchBoard
from hil.standins import start_virtual
from hil.targets.probe import Probe
from hil.targets.serial_port import open_serial
from hil.trial import TrialSpec, run_trial
from tests.device_at import device_at

BOARD = boards.load("stm32h7b3")
PROBE = AttachedDevice("probe", "STMicroelectronics STLINK-V3", "0672FF303435554157121019")


def look(devices: list[AttachedDevice], **entry: str) -> list[Check]:
    return [check for check in examine(Bench(board=[BenchBoard(name=BOARD.name, **entry)]), devices) if check.board]


@pytest.fixture(scope="module")
def endpoints(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoints]:
    """A virtual board, its board flashed and running."""
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    image = image_of(BOARD.name)
    stand_in = start_virtual(BOARD, image, tmp_path_factory.mktemp("board") / "log")
    with device_at(BOARD, stand_in.endpoints) as dut:
        dut.flash()
    yield stand_in.endpoints
    stand_in.stop()


def test_a_bench_in_order(endpoints: Endpoints) -> None:
    checks = look([], probe=endpoints.probe, serial=endpoints.serial, meter=endpoints.meter)
    assert [(check.subject, check.state) for check in checks] == [
        (subject, OK) for subject in ("probe", "probe opens", "port opens", "agent answers", "flash", "meter")
    ]
    assert "runs stm32h7b3.elf" in checks[3].said
    assert "2450" in checks[5].said


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoints]:
    """A virtual board whose board comes from the shop: its flash is erased."""
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    stand_in = start_virtual(BOARD, image_of(BOARD.name), tmp_path_factory.mktemp("bare") / "log")
    yield stand_in.endpoints
    stand_in.stop()


def agent_of(endpoints: Endpoints) -> Check:
    checks = look([], probe=endpoints.probe, serial=endpoints.serial)
    (check,) = (check for check in checks if check.subject == "agent answers")
    assert {other.state for other in checks if other is not check} == {OK}
    return check


def test_an_erased_board_is_ready_for_its_first_run(bare: Endpoints) -> None:
    assert agent_of(bare) == Check(
        BOARD.name,
        "agent answers",
        NOTE,
        "the flash is erased: the first run programs the firmware.",
    )


def test_the_doctor_ends_well_on_an_erased_board(
    bare: Endpoints, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rig.toml").write_text(
        f'[[board]]\nname = "{BOARD.name}"\nprobe = "{bare.probe}"\nserial = "{bare.serial}"\n'
    )
    assert main(["doctor", "--rig", str(tmp_path / "rig.toml")]) == 0
    assert "the first run programs the firmware" in capsys.readouterr().out


def test_another_program_in_the_flash_is_no_erased_board(bare: Endpoints) -> None:
    probe = Probe(BOARD, bare.probe or "")
    assert probe.program(image_of("stm32f746"))
    probe.close()
    check = agent_of(bare)
    assert check.state == WRONG
    assert (
        "the flash of stm32h7b3 holds another program" in check.said
        and "`pytest --board=stm32h7b3` replaces it" in check.said
    )


def test_our_firmware_that_is_silent_is_wrong(endpoints: Endpoints) -> None:
    master, slave = os.openpty()
    try:
        check = agent_of(replace(endpoints, serial=os.ttyname(slave)))
    finally:
        os.close(master)
        os.close(slave)
    assert check.state == WRONG and "the flash holds the rig's firmware, but its agent does not answer" in check.said


def test_a_virtual_bench_that_rig_toml_calls_attached_is_no_hardware_and_its_line_is_looked_at(
    endpoints: Endpoints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hil.dut.with_port.line_faults", lambda port: [f"{port} damages bytes."])
    named = BenchBoard(name=BOARD.name, probe=endpoints.probe, serial=endpoints.serial)
    with Rig(Bench(board=[named])) as rig:
        outcome = run_trial(TrialSpec(BOARD.name, "cls1", steps=1, evaluate=0), rig, tmp_path)
    assert (outcome.verdict, outcome.reality) == ("pass", "virtual"), outcome.reason
    assert f"{endpoints.serial} damages bytes." in outcome.notes


def test_another_board_than_rig_toml_says(endpoints: Endpoints) -> None:
    checks = [
        check for check in examine(Bench(board=[BenchBoard(name="rp2040", serial=endpoints.serial)]), []) if check.board
    ]
    (wrong,) = (check for check in checks if check.state == WRONG)
    assert wrong.subject == "agent answers"
    assert "the board reports the name 'stm32h7b3': change the name in rig.toml" in wrong.said


def test_a_meter_that_is_not_there(endpoints: Endpoints) -> None:
    checks = look([], serial=endpoints.serial, meter="TCPIP0::127.0.0.1::9::SOCKET")
    assert (checks[-1].subject, checks[-1].state) == ("meter", WRONG)
    assert "check its cable, its power and its address" in checks[-1].said


def test_a_part_of_a_serial_number_is_not_enough() -> None:
    (check,) = look([PROBE], probe="0672FF30")
    assert check.state == WRONG
    assert check.said == f"0672FF30 is only a part of {PROBE.identity}: write the full serial number into rig.toml."


def test_a_probe_that_is_gone() -> None:
    (check,) = look([PROBE], probe="066DFF")
    assert check.said == f"the probe 066DFF is not attached (found: {PROBE.identity}): plug it in, or correct rig.toml."


def test_an_empty_bench_is_told_how_to_begin() -> None:
    (check,) = (check for check in examine(Bench(), []) if check.subject == "rig.toml")
    assert check.state == "note" and "`hil init`" in check.said


def test_a_port_without_an_entry() -> None:
    (check,) = look([])
    assert check.said == 'stm32h7b3 has no serial port in rig.toml: add serial = "..." (`hil devices` lists them).'


def test_who_has_the_port_open_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hil.targets.serial_port.PSEUDO_TERMINALS", "/dev/none/")  # this one stands for a real port
    master, slave = os.openpty()
    path = os.ttyname(slave)
    holder = subprocess.Popen(
        [sys.executable, "-c", f"import time; f = open({path!r}); print(flush=True); time.sleep(60)"],
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(Blocked, match=rf"is open in python\S* \(process {holder.pid}\): end that program"):
            open_serial(path, 115_200)
    finally:
        holder.kill()
        holder.wait()
        os.close(master)
        os.close(slave)
