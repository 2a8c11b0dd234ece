"""A test takes all address space and keeps it: the session records what it knows, and ends."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import resource

kept = []


def test_one(hil_board):
    pages = int(open("/proc/self/statm").read().split()[0])
    most = pages * resource.getpagesize() + (4 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    for size in (1 << 20, 1 << 12, 64):
        try:
            while True:
                kept.append(bytearray(size))
        except MemoryError:
            pass
    raise MemoryError


def test_two(hil_board):
    pass
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, and limits the address space")
def test_a_session_without_memory_ends_with_its_record(tmp_path: Path) -> None:
    (tmp_path / "test_takes_all.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "0", "--board=stm32h7b3"]
    done = subprocess.run(
        [*command, "--junitxml=junit.xml", "test_takes_all.py"], cwd=tmp_path, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert "INTERNALERROR" not in done.stdout, done.stdout
    record = json.loads((tmp_path / "reports/latest/results.json").read_text())
    assert record["run"]["whole"] and [test["outcome"] for test in record["tests"]] == ["failed", "passed"], done.stdout
    assert (tmp_path / "junit.xml").is_file()
