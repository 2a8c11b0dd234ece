"""Modules that pyOCD imports while it is loaded can be the first of all that are imported."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["hil.targets.pyocd_targets", "hil.targets.pyocd_session"])
def test_a_module_can_be_imported_first(module: str) -> None:
    program = f"import {module}; from hil.targets.pyocd_targets import register; register('stm32h7b3xx')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
