"""Commit, versions and host of a run, without anything that identifies a person or a place."""

from __future__ import annotations

import contextlib
import os
import platform
from importlib import metadata
from typing import Any

from hil import __version__
from hil.commit import commit_of_folder

PACKAGES = ("numpy", "pandas", "pyocd", "pyserial", "pyvisa", "unicorn", "llvmlite", "pytest")


def origin() -> dict[str, Any]:
    """Return `commit` (None outside a checkout; followed by `+` if files differ from it), `versions` and `host`."""
    return {
        "commit": commit_of_folder(),
        "versions": {"trainrig": __version__, "python": platform.python_version()} | _versions(),
        "host": {"system": platform.system(), "machine": platform.machine(), "cpus": os.cpu_count()},
    }


def _versions() -> dict[str, str]:
    installed = {}
    for package in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            installed[package] = metadata.version(package)
    return installed
