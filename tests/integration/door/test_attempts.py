"""A test that a plugin runs again, a test that ends the session, and a test of a trial and a device."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from hil.record import read_run
from tests.one_process import one_process

BOARD = "mps2-an386"
AGAIN = """
from _pytest.runner import runtestprotocol

def pytest_runtest_protocol(item, nextitem):
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for _ in range(2):  # as plugins do that run a failed test again
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
"""
TESTS = """
class Reference:
    def step(self, index):
        return {"loss": 1.0}

runs = {"better": [2.0, 1.0], "worse": [1.0, 2.0]}

def test_better(hil_compare):
    hil_compare(Reference(), exact=True).step(0, {"loss": runs["better"].pop(0)})

def test_worse(hil_compare):
    hil_compare(Reference(), exact=True).step(0, {"loss": runs["worse"].pop(0)})
"""


def test_the_last_attempt_counts_and_all_are_recorded(tmp_path: Path, strange: Callable):
    (tmp_path / "conftest.py").write_text(AGAIN)
    done = strange(tmp_path, TESTS, f"--board={BOARD}", "--reality=qemu")
    assert done.verdict("test_better") == ("pass", "") and done.verdict("test_worse")[0] == "fail"
    attempts = [(each.folder, each.verdict) for each in done.read.device_tests]
    assert sorted(attempts) == [
        ("test_better", "fail"), ("test_better-2", "pass"), ("test_worse", "pass"), ("test_worse-2", "fail"),
    ]  # fmt: skip
    assert done.results["run"]["whole"] and done.code == 1


def test_a_killed_run_says_which_test_it_was_in(tmp_path: Path):
    text = 'import time\n\ndef test_a(hil_compare):\n    open("begun", "w").close()\n    time.sleep(600)\n'
    (tmp_path / "test_mine.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *one_process(f"--board={BOARD}")]
    process = subprocess.Popen([*command, "test_mine.py"], cwd=tmp_path, stdout=subprocess.DEVNULL)
    while not (tmp_path / "begun").exists():
        assert process.poll() is None
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    (folder,) = (path for path in (tmp_path / "reports").glob("2*") if path.is_dir())
    (entry,) = read_run(folder).device_tests
    assert (entry.verdict, entry.reason) == ("interrupted", "the run ended before this test did.")
    assert json.loads((folder / "test_a" / "device_test.json").read_text())["judged"] == []


def test_an_interrupted_run_is_read_too(tmp_path: Path, strange: Callable):
    text = (
        "import pytest\n\ndef test_a(hil_compare):\n    pytest.exit('enough')\n\ndef test_b(hil_compare):\n    pass\n"
    )
    done = strange(tmp_path, text, f"--board={BOARD}", "--reality=qemu")
    assert done.results["run"]["state"] == "interrupted" and done.entry("test_a").verdict == "interrupted"
    assert done.verdict("test_b")[0] == "interrupted"
