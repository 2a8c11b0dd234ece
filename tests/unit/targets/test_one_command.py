"""A command of rig.toml is run to its end or killed with all its processes; its last words are in the message."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from hil.command_line import CommandLine
from hil.errors import Blocked
from hil.targets.one_command import run_once


def line(here: Path, *words: str) -> CommandLine:
    return CommandLine("flash", words, here)


def blocked(here: Path, *words: str, timeout_s: float = 60.0) -> str:
    with pytest.raises(Blocked) as raised:
        run_once(line(here, *words), {"here": str(here)}, "stm32f746", "flash", timeout_s, here / "flash.log")
    assert raised.value.stage == "flash"
    return raised.value.reason


def test_it_runs_beside_rig_toml_and_its_output_is_kept(tmp_path: Path) -> None:
    (tmp_path / "tool").write_text('#!/bin/sh\npwd\necho "$1" >&2\n')
    (tmp_path / "tool").chmod(0o755)
    run_once(line(tmp_path, "./tool", "a {here}"), {"here": "b"}, "x", "flash", 60.0, tmp_path / "flash.log")
    assert (tmp_path / "flash.log").read_text() == f"$ ./tool a b\n{tmp_path}\na b\n"


def test_a_missing_program(tmp_path: Path) -> None:
    assert blocked(tmp_path, "no-such-flasher").startswith(
        "the program 'no-such-flasher' of `flash` in rig.toml is not on"
    )
    assert f"'./tool' of `flash` in rig.toml is not in {tmp_path}" in blocked(tmp_path, "./tool")
    (tmp_path / "tool").write_text("not executable")
    assert "may not be executed" in blocked(tmp_path, "./tool")
    (tmp_path / "tool").chmod(0o755)
    assert "cannot be started (" in blocked(tmp_path, "./tool")


def test_one_that_fails(tmp_path: Path) -> None:
    said = blocked(tmp_path, "sh", "-c", "for n in 1 2 3 4; do echo line $n; done; exit 7")
    assert said == (
        "`flash` of stm32f746 (sh) ended with exit code 7; the last lines of its output: 'line 2' | 'line 3' | 'line 4': "
        "run it by hand."
    )
    assert "signal 9 (SIGKILL); the last lines of its output: none" in blocked(tmp_path, "sh", "-c", "kill -9 $$")


def test_one_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    said = blocked(
        tmp_path, sys.executable, "-c",
        "import signal, subprocess, sys, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['sleep', '600'])\nprint('child', child.pid, flush=True)\ntime.sleep(600)",
        timeout_s=5.0,
    )  # fmt: skip
    assert "did not end within 5 s and was killed with all its processes" in said and "set `flash_timeout`" in said
    child = int(said.partition("'child ")[2].partition("'")[0])
    until = time.monotonic() + 30
    while time.monotonic() < until and Path(f"/proc/{child}").exists() and " Z " not in state(child):
        time.sleep(0.02)
    assert " Z " in state(child)


def state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return " Z "


def test_what_it_leaves_behind_neither_delays_it_nor_stays(tmp_path: Path) -> None:
    run_once(line(tmp_path, "sh", "-c", "sleep 600 & echo $!"), {}, "x", "flash", 60.0, tmp_path / "log")
    child = int((tmp_path / "log").read_text().splitlines()[-1])
    until = time.monotonic() + 30
    while time.monotonic() < until and " Z " not in state(child):
        time.sleep(0.02)
    assert " Z " in state(child) and os.getpid()


def test_a_log_that_the_disk_does_not_take_is_the_disk(tmp_path: Path) -> None:
    with pytest.raises(Blocked, match="/dev/full cannot be written .*: check the space") as seen:
        run_once(line(tmp_path, "echo", "a"), {}, "x", "flash", 60.0, Path("/dev/full"))
    assert seen.value.stage == "record"
