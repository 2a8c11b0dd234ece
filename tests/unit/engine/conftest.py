"""Fixtures of the engine's tests: the training engine of the firmware, built for this computer."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

HOST = Path(__file__).resolve().parents[3] / "firmware" / "host"


def missing(reason: str) -> None:
    """Skip the test, or fail it where CI is set: there everything has to be installed."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, str]]:
    """Return a function that makes a target of firmware/host/Makefile; it returns the folder and what was printed."""
    base = tmp_path_factory.getbasetemp()
    build = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "engine"  # all workers have one
    compiler = os.environ.get("CC", "cc")

    def run(target: str) -> tuple[Path, str]:
        for tool in ("make", compiler):
            if shutil.which(tool) is None:
                missing(f"{tool} is not installed")
        command = ["make", f"-j{os.cpu_count() or 1}", "-C", str(HOST), f"BUILD={build}", f"CC={compiler}", target]
        with FileLock(f"{build}.lock"):
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert done.returncode == 0, done.stdout
        return build, done.stdout

    return run


@pytest.fixture(scope="session")
def library(make: Callable[[str], tuple[Path, str]]) -> ctypes.CDLL:
    """Return the engine as a shared library."""
    build, _ = make("all")
    return ctypes.CDLL(str(build / "libtrainrig_host.so"))
