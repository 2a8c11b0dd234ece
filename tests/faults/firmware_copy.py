"""Firmware with one line changed, built in a copy."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.built_firmware import copy_built

FIRMWARE = Path(__file__).resolve().parents[2] / "firmware"


def need_compiler() -> None:
    """Skip the test where there is no compiler; in CI there must be one."""
    if shutil.which("arm-none-eabi-gcc") is None:
        assert not os.environ.get("CI"), "CI must have arm-none-eabi-gcc"
        pytest.skip("seeded defects are compiled: apt install gcc-arm-none-eabi make")


def build_changed(factory: pytest.TempPathFactory, copy: Path, board: str, file: str, old: str, new: str) -> Path:
    """Build the image of a copy of the firmware in which `old`, which must be there once, is `new`."""
    copy_built(factory, copy)
    source = copy / file
    text = source.read_text()
    assert text.count(old) == 1, f"{file} no longer has the line {old!r} once: bring the defect up to date"
    source.write_text(text.replace(old, new))
    done = subprocess.run(
        ["make", "-C", copy, "-j2", f"build/{board}.elf"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return copy / "build" / f"{board}.elf"
