"""A PATH on which `renode` is the scripted one."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Path]:
    """Install a scripted Renode that does what the given entries of its `Script` say; return the file of what it is told."""

    def install(**script: object) -> Path:
        commands = tmp_path / "commands"
        programs = tmp_path / "bin"
        programs.mkdir(exist_ok=True)
        renode = programs / "renode"
        renode.write_text(
            f'#!/bin/sh\nexec env PYTHONPATH={ROOT} {sys.executable} -m tests.unit.renode.scripted.program "$@"\n'
        )
        renode.chmod(0o755)
        monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        monkeypatch.setattr(tempfile, "tempdir", None)  # which remembers the folder of the first call
        monkeypatch.setenv("SCRIPTED_RENODE", json.dumps(script | {"commands": str(commands)}))
        return commands

    return install
