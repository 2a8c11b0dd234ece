"""Renode as a stand-in, from outside: it comes up, or one sentence says why not; and nothing of it is ever left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hil import boards
from hil.errors import Blocked
from hil.images import Image, image_of
from hil.process_time import stopped_process
from hil.rig.kept_stand_ins import KeptStandIns
from hil.standins import StandIn
from hil.standins import process as standin_process
from hil.standins.process import STOP_AFTER_S
from hil.standins.renode import installed, modelled, start_renode
from hil.standins.renode.process import RenodeProcess, private_environment
from hil.training.trial.device import Device
from tests.device_at import device_at

pytest.importorskip("unicorn")
BOARD = boards.load("stm32h7b3")
IMAGE = image_of(BOARD.name)
ROOT = Path(__file__).resolve().parents[3]
Install = Callable[..., Path]


def left(folder: Path) -> list[str]:
    """Return the command lines of all processes whose environment names a folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if entry.name != str(os.getpid()) and str(folder).encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return [line for line in found if line]


HANG_S = 30.0  # what takes longer hangs, on a busy computer too


def nothing_left(folder: Path, within_s: float) -> bool:
    end = time.monotonic() + within_s
    while left(folder):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.parametrize("name", modelled())
def test_the_real_firmware_greets_through_its_platform(install: Install, tmp_path: Path, name: str) -> None:
    install(late_s=0.3)
    board, image = boards.load(name), image_of(name)
    stand_in = start_renode(board, image, tmp_path / "log")
    try:
        assert (stand_in.endpoints.reality, stand_in.endpoints.probe, stand_in.endpoints.meter) == (
            "renode",
            None,
            None,
        )
        greet(board, image, stand_in)
    finally:
        stand_in.stop()
    assert "1,234,567 instructions" in (tmp_path / "log").read_text(errors="replace")
    assert nothing_left(tmp_path, 0.0)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ({"version": "1.15.3"}, r"bin/renode is Renode 1\.15\.3, which is too old: unpack the portable archive of Renode 1\.16\.0 or later"),
        ({"prints": "Segmentation fault"}, r"does not report its version \(its output is 'Segmentation fault'\): unpack"),
        ({"dies_at_start": True}, "Renode ended with status 1 while it started: run again"),
        ({"die": "sysbus LoadELF"}, r"Renode ended with status 134 at 'sysbus LoadELF @\S+', while it built stm32h7b3: run again"),
        ({"refuse": "machine LoadPlatformDescription"}, "Renode refused ExecuteCommand machine LoadPlatformDescription"),
    ],
)  # fmt: skip
def test_a_renode_that_does_not_come_up(install: Install, tmp_path: Path, script: dict[str, object], said: str) -> None:
    install(**script)
    with pytest.raises(Blocked, match=said) as blocked:
        start_renode(BOARD, IMAGE, tmp_path / "log")
    assert len(str(blocked.value).splitlines()) == 1
    assert nothing_left(tmp_path, 0.0)


def test_a_renode_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Blocked, match="renode is not installed: unpack the portable archive"):
        start_renode(BOARD, IMAGE, tmp_path / "log")


def test_a_renode_that_dies_in_a_trial(install: Install, tmp_path: Path) -> None:
    install()
    stand_in = start_renode(BOARD, IMAGE, tmp_path / "log")
    try:
        (renode,) = _pids("scripted.program", tmp_path)
        os.kill(renode, signal.SIGSEGV)
        stand_in.process.wait(5)
        with pytest.raises(
            Blocked,
            match=r"the stand-in Renode ended with status 3 \(Renode ended with signal SIGSEGV while it ran stm32h7b3\)",
        ):
            stand_in.alive()
    finally:
        stand_in.stop()


def test_a_renode_that_is_stopped_is_named(install: Install, tmp_path: Path) -> None:
    """A stopped Renode answers nothing, and no cable or port is at fault."""
    install()
    stand_in = start_renode(BOARD, IMAGE, tmp_path / "log")
    try:
        (renode,) = _pids("scripted.program", tmp_path)
        stand_in.alive(0.01)
        os.kill(renode, signal.SIGSTOP)
        _until(lambda: "State:\tT" in Path("/proc", str(renode), "status").read_text())
        said = rf"the stand-in Renode is stopped: continue its process with `kill -CONT {renode}`, or end it with"
        with pytest.raises(Blocked, match=said) as blocked:
            stand_in.alive(0.01)
        assert "serial port" not in str(blocked.value)
        os.kill(renode, signal.SIGCONT)
        _until(lambda: stopped_process(renode) is None)
        stand_in.alive(0.01)
    finally:
        stand_in.stop()


def test_a_renode_that_is_stopped_while_it_builds_a_board(install: Install, tmp_path: Path) -> None:
    install()
    renode = RenodeProcess(str(tmp_path / "bin/renode"), private_environment(tmp_path), sys.__stderr__.buffer)
    robot = renode.connect()
    try:
        robot.deadline_s = 0.5
        os.kill(renode.process.pid, signal.SIGSTOP)
        with pytest.raises(Blocked, match="did not answer"):
            robot.execute("mach create")
        with pytest.raises(Blocked, match=rf"Renode is stopped: .*`kill -CONT {renode.process.pid}`"):
            renode.explain(f"at {robot.last!r}")
    finally:
        renode.close(None)


@pytest.mark.parametrize("script", ["sleep 4242", "echo 'Renode v1.16.1.1'; sleep 4242 &\nsleep 4242"])
def test_a_version_that_hangs_leaves_no_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str) -> None:
    """A script without `exec` has a child, which holds the pipes."""
    program = tmp_path / "renode"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr("hil.standins.renode.start.VERSION_DEADLINE_S", 0.5)
    monkeypatch.setenv("MARK", str(tmp_path / "mark"))
    with pytest.raises(Blocked, match=r"renode does not report its version \(.*timed out after 0.5 seconds\): unpack"):
        installed()
    assert nothing_left(tmp_path / "mark", 1.0)


@pytest.mark.parametrize(
    "script",
    [{"deaf": True, "child": True}, {"hang": "cpu ExecutedInstructions", "child": True}, {"hang": "StopRemoteServer"}],
    ids=["deaf", "hanging", "never stopping"],
)
def test_the_deadline_of_the_end(install: Install, tmp_path: Path, script: dict[str, object]) -> None:
    install(**script)
    stand_in = start_renode(BOARD, IMAGE, tmp_path / "log")
    asked = time.monotonic()
    stand_in.stop()
    assert time.monotonic() - asked < STOP_AFTER_S
    assert stand_in.process.returncode == 0  # ended by itself, not killed
    assert nothing_left(tmp_path, 0.2)


def test_stopped_in_the_middle_of_a_command(install: Install, tmp_path: Path) -> None:
    commands = install(hang="emulation RunFor", child=True)
    folder = tmp_path / "folder"
    folder.mkdir()
    command = [
        sys.executable,
        "-m",
        "hil.standins.renode",
        "--board",
        BOARD.name,
        "--elf",
        str(IMAGE.path),
        "--folder",
        str(folder),
    ]
    with subprocess.Popen(
        [*command, "--parent-pid", str(os.getpid())],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT,
    ) as renode:  # fmt: skip
        _until(lambda: commands.exists() and "RunFor" in commands.read_text())
        renode.terminate()
        assert renode.wait(HANG_S) == 0
    assert nothing_left(tmp_path, 0.2)
    assert not folder.exists()


OWNER = """
import sys, time
from pathlib import Path
from hil import boards
from hil.images import image_of
from hil.standins.renode import start_renode
stand_in = start_renode(boards.load("stm32h7b3"), image_of("stm32h7b3"), Path(sys.argv[1]))
print("up", flush=True)
time.sleep(3600)
"""


@pytest.mark.parametrize("script", [{"child": True}, {"child": True, "deaf": True}], ids=["willing", "deaf"])
def test_nothing_is_left_when_the_owner_is_killed(install: Install, tmp_path: Path, script: dict[str, object]) -> None:
    install(**script)
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path / "log")], stdout=subprocess.PIPE, cwd=ROOT)
    assert owner.stdout is not None
    assert owner.stdout.readline() == b"up\n"
    assert len(left(tmp_path)) >= 4  # owner, its server, Renode and its child
    owner.kill()
    owner.wait()
    owner.stdout.close()
    assert nothing_left(tmp_path, HANG_S)
    _until(lambda: folders(tmp_path) == [])


@pytest.mark.parametrize("when", ["cpu ExecutedInstructions", "StopRemoteServer"])
def test_told_twice_to_end(install: Install, tmp_path: Path, when: str) -> None:
    """An owner that is killed closes the standard input and makes the kernel send SIGTERM, in any order."""
    commands = install(child=True, deaf=True)
    stand_in = start_renode(BOARD, IMAGE, tmp_path / "log")
    assert stand_in.process.stdin is not None
    stand_in.process.stdin.close()
    _until(lambda: when in commands.read_text())
    stand_in.process.terminate()
    stand_in.process.wait(HANG_S)
    assert nothing_left(tmp_path, 0.2)
    stand_in.stop()


def test_renode_dies_with_a_bench_that_is_killed(install: Install, tmp_path: Path) -> None:
    install(deaf=True)
    stand_in = start_renode(BOARD, IMAGE, tmp_path / "log")
    stand_in.process.kill()
    stand_in.process.wait()
    assert nothing_left(tmp_path, 1.0)
    stand_in.stop()
    assert folders(tmp_path) == []


def test_no_folder_is_left_where_the_bench_had_to_be_killed(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install()
    stand_in = start_renode(BOARD, IMAGE, tmp_path / "log")
    assert folders(tmp_path) != []
    os.kill(stand_in.process.pid, signal.SIGSTOP)  # as on a computer where it does not come to its end in time
    monkeypatch.setattr(standin_process, "STOP_AFTER_S", 0.1)
    stand_in.stop()
    assert stand_in.process.returncode == -signal.SIGKILL
    assert nothing_left(tmp_path, 1.0)
    assert folders(tmp_path) == []


def test_one_renode_for_one_trial_after_another(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install()
    kept = KeptStandIns(tmp_path)
    renodes = set()
    for name in ("stm32h7b3", "stm32h7b3", "nrf52840"):
        board, image = boards.load(name), image_of(name)
        with kept.provide("renode", board, image, tmp_path / "log") as (stand_in, _):
            assert stand_in.endpoints.board == name
            renodes |= set(_pids("scripted.program", tmp_path))
            greet(board, image, stand_in)
    assert len(renodes) == 1
    os.kill(*renodes, signal.SIGKILL)
    with kept.provide("renode", board, image, tmp_path / "log") as (stand_in, _):  # another comes in its place
        greet(board, image, stand_in)
    kept.close()
    assert nothing_left(tmp_path, 0.2)
    assert folders(tmp_path) == []


def test_a_renode_that_refuses_the_second_board(install: Install, tmp_path: Path) -> None:
    install(refuse="cpu MPURegionNumber")
    stand_in = start_renode(BOARD, IMAGE, tmp_path / "log")
    with pytest.raises(Blocked, match="Renode refused ExecuteCommand cpu MPURegionNumber"):
        stand_in.serves(boards.load("imxrt1062"), image_of("imxrt1062"))
    stand_in.stop()
    assert nothing_left(tmp_path, 0.2)


def folders(folder: Path) -> list[Path]:
    return list(folder.glob("trainrig-renode-*"))


def greet(board: boards.Board, image: Image, stand_in: StandIn) -> None:
    with device_at(board, stand_in.endpoints, image=image) as dut:
        device = Device(dut.agent, board, image)  # checks name and digest
        assert device.clock_hz == board.clock_hz
        assert device.echo(b"again") == b"again"  # it still hears after it has sent


def _pids(name: str, folder: Path) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (
                name.encode() in (entry / "cmdline").read_bytes()
                and str(folder).encode() in (entry / "environ").read_bytes()
            ):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def _until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)
