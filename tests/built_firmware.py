"""All images of the firmware, built once for a test run, with their objects."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.built_once import built_once

FIRMWARE = Path(__file__).resolve().parents[1] / "firmware"
CHECKED = "check.txt"  # in the folder: what `make check` printed, and its exit code in the last line


def built_firmware(factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the firmware, all its objects and images, which `make check` has built and compared."""
    return built_once(factory, "firmware", _check)


def _check(folder: Path) -> Path:
    command = [
        "make",
        "--no-print-directory",
        "-C",
        str(FIRMWARE),
        "check",
        f"KEEP={folder}",
        f"PYTHON={sys.executable}",
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert (folder / "build").is_dir(), done.stdout
    (folder / CHECKED).write_text(f"{done.stdout}{done.returncode}\n", encoding="utf-8")
    return folder


def copy_built(factory: pytest.TempPathFactory, to: Path) -> Path:
    """Copy it to a folder that does not exist yet, with the dates of all files: `make` compiles only what is changed."""
    return Path(shutil.copytree(built_firmware(factory), to))
