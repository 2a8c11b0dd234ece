"""What `hil bench-server` prints: JSON for scripts, and a table that makes a rig.toml by being pasted."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

BOARD = "stm32h7b3"
pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")


@pytest.fixture
def server() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "hil.commands.main", "bench-server", "--board", BOARD]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def test_the_table_is_a_rig_toml_that_the_doctor_finds_in_order(server: subprocess.Popen[str], tmp_path: Path) -> None:
    assert server.stdout is not None
    said = json.loads(server.stdout.readline())
    pasted = "".join(iter(server.stdout.readline, "\n"))
    (tmp_path / "rig.toml").write_text(pasted)
    doctor = subprocess.run(
        [sys.executable, "-m", "hil.commands.main", "doctor", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    checks = json.loads(doctor.stdout)
    assert doctor.returncode == 0, checks
    assert {check["board"] for check in checks} - {""} == {BOARD}  # "": of the computer
    assert {"probe opens", "port opens", "agent answers", "meter"} <= {check["subject"] for check in checks}
    assert f'coverage = "{said["coverage"]}"' in pasted, "trials on it record what it executed"
    assert f'serial = "{said["serial"]}"' in pasted and said["pid"] == server.pid
    server.send_signal(signal.SIGINT)
    assert server.wait(30) == 0


def test_who_has_started_it_for_a_trial_is_spared_the_table() -> None:
    command = [sys.executable, "-m", "hil.standins.virtual", "--board", BOARD, "--leashed"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        json.loads(process.stdout.readline())
        rest, _ = process.communicate("", timeout=60)
    assert "[[board]]" not in rest
