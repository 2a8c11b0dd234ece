"""The first commands of docs/trials.md, "Campaigns", are run as they stand there: a campaign is stopped while it runs, and goes on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from docs_page import ROOT, Page, run

BLOCK = Page.of("trials.md", "Campaigns").block("hil campaign start")
COMMANDS = [line.split("  #")[0].strip() for line in BLOCK.splitlines()]
START, STATUS, STOP, RESUME = COMMANDS
HANG_S = 900


@contextmanager
def running(command: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a command beside the test, with the programs of this environment."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    process = subprocess.Popen(command.split(), cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def status(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(folder, f"{STATUS} --json"))
    return found


def stopped_after(steps: int, process: subprocess.Popen[str], folder: Path) -> int:
    """Stop the campaign when so many steps are done, and return how many were."""
    deadline = time.monotonic() + HANG_S
    while not (folder / "days/journal.jsonl").exists() or status(folder)["steps_done"] < steps:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.5)
    assert "running" in run(folder, STATUS)
    run(folder, STOP)
    assert process.wait(HANG_S) == 0
    found = status(folder)
    assert found["state"] == "stopped"
    return int(found["steps_done"])


@pytest.mark.tier("nightly")
def test_a_campaign_is_stopped_and_resumed(tmp_path: Path) -> None:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    shutil.copy(ROOT / "rig.toml", tmp_path)
    with running(START, tmp_path) as process:
        before = stopped_after(2, process, tmp_path)
    with running(RESUME, tmp_path) as process:
        assert stopped_after(before + 2, process, tmp_path) > before
