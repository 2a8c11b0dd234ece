"""`hil new method`, whose template is that of hil.training: a package whose test passes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hil.commands.main import main
from hil.plugins.folders import VARIABLE


def test_a_method_that_is_listed_and_whose_test_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)
    assert main(["new", "method", "fqt"]) == 2
    assert "there is a method 'fqt' already" in capsys.readouterr().err
    assert main(["new", "method", "my-own"]) == 0
    Path("rig.toml").write_text(capsys.readouterr().out.splitlines()[-1].strip() + "\n")

    def run(*command: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=tmp_path, env=dict(os.environ), capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    (offer,) = (one for one in json.loads(run("hil.commands.main", "plugins", "--json"))["plugins"] if one["folder"])
    assert (offer["kind"], offer["name"], offer["error"]) == ("methods", "my-own", None)
    assert "1 passed" in run("pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "my-own")
