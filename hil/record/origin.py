"""Commit, versions and host of a run, without anything that identifies a person or a place."""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
from importlib import metadata
from typing import Any

from hil import __version__

PACKAGES = ("numpy", "pandas", "pyocd", "pyserial", "pyvisa", "unicorn", "llvmlite", "pytest")


def origin() -> dict[str, Any]:
    """Return `commit` (None outside a checkout), `versions` and `host`."""
    return {
        "commit": _commit(),
        "versions": {"trainrig": __version__, "python": platform.python_version()} | _versions(),
        "host": {"system": platform.system(), "machine": platform.machine(), "cpus": os.cpu_count()},
    }


def _commit() -> str | None:
    """Return the commit of the working folder; None outside a checkout or without git."""
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _versions() -> dict[str, str]:
    installed = {}
    for package in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            installed[package] = metadata.version(package)
    return installed
