"""firmware/host/Makefile, run in a folder that all workers of a test run share."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from filelock import FileLock

HOST = Path(__file__).resolve().parents[1] / "firmware" / "host"


def make_host(factory: pytest.TempPathFactory, target: str) -> tuple[Path, str]:
    """Make a target; return the folder of what is built, and what was printed. Without the tools the test is skipped.

    Where CI is set a missing tool fails the test: there everything has to be installed.
    """
    base = factory.getbasetemp()
    build = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "engine"
    compiler = os.environ.get("CC", "cc")
    for tool in ("make", compiler):
        if shutil.which(tool) is None:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{tool} is not installed")
    command = ["make", f"-j{os.cpu_count() or 1}", "-C", str(HOST), f"BUILD={build}", f"CC={compiler}", target]
    with FileLock(f"{build}.lock"):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return build, done.stdout
