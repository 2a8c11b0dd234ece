"""`pytest --board=... --reflash` on a board that rig.toml names: here the virtual board, as one would name a board of another computer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from hil.endpoints import Endpoints

TESTS = """
import pytest
from hil.trial import TrialSpec


@pytest.mark.parametrize("variant", ["cls1", "cls2"])
def test_mine(hil_board, hil_trial, variant):
    assert hil_trial(TrialSpec(hil_board, variant, steps=1, evaluate=0)).verdict == "pass"
"""


def test_reflash_programs_once_a_session_and_the_cycles_are_in_the_record(
    virtual_endpoints: Callable[[str], Endpoints], tmp_path: Path
) -> None:
    ends = virtual_endpoints("stm32h7b3")
    (tmp_path / "rig.toml").write_text(
        f'[[board]]\nname = "stm32h7b3"\nprobe = "{ends.probe}"\nserial = "{ends.serial}"\n'
    )
    (tmp_path / "test_mine.py").write_text(TESTS)

    def run(*options: str) -> list[dict[str, object]]:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--board=stm32h7b3",
            *options,
            "test_mine.py",
        ]
        home = os.environ | {"XDG_DATA_HOME": str(tmp_path)}
        done = subprocess.run(command, cwd=tmp_path, env=home, capture_output=True, text=True, timeout=240, check=False)
        assert done.returncode == 0, done.stdout
        trials = json.loads((tmp_path / "reports/latest/results.json").read_text())["trials"]
        assert {trial["reality"] for trial in trials} == {"virtual"}, "its probe says what it is"
        return [trial["flash"] for trial in trials]

    first = run()
    assert not first[1]["programmed"]
    before = int(bool(first[0]["programmed"]))
    assert {flash["cycles"] for flash in first} == {before}
    assert run("--reflash") == [
        {"route": "pyocd", "programmed": programmed, "cycles": before + 1} for programmed in (True, False)
    ]
    kept = json.loads((tmp_path / "trainrig/flash_cycles.json").read_text())
    assert kept == {f"stm32h7b3 at {ends.probe}": before + 1}
