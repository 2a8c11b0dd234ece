"""`hil new`: each template is a package whose test passes, and which is used as a folder of rig.toml."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hil.commands.main import main
from hil.plugins.folders import VARIABLE


def run(folder: Path, *command: str) -> str:
    """Run a module of Python in a folder, and return its output."""
    without = {key: value for key, value in os.environ.items() if key != VARIABLE}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env=without, capture_output=True, text=True, timeout=300, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("kind", "tests"), [("board", 2), ("meter", 5)])
def test_a_package_that_is_listed_and_whose_test_passes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, tests: int
) -> None:
    assert main(["new", kind, "my-own"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("my-own is written.")
    Path("rig.toml").write_text(said.splitlines()[-1].strip() + "\n")
    (offer,) = (
        one for one in json.loads(run(tmp_path, "hil.commands.main", "plugins", "--json"))["plugins"] if one["folder"]
    )
    assert (offer["kind"], offer["name"], offer["package"], offer["error"]) == (
        f"{kind}s",
        "my-own",
        "trainrig-my-own",
        None,
    )
    assert f"{tests} passed" in run(tmp_path, "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "my-own")


def test_an_engine_that_trains_on_qemu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for tool in ("make", "arm-none-eabi-gcc", "qemu-system-arm"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    assert main(["new", "engine", "mine"]) == 0
    subprocess.run(["make", "-C", "mine"], check=True, capture_output=True)
    said = run(tmp_path / "mine", "pytest", "-n", "0", "-p", "no:cacheprovider")
    assert "1 tests: 1 pass" in said and "bit-exact" in said
    assert "steps  " in said and "  64  " in said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["board", "stm32h7b3"], "there is a board 'stm32h7b3' already: take another name."),
        (["meter", "keithley-2450"], "there is a meter 'keithley-2450' already"),
        (["engine", "json"], "Python has a module json already"),
        (["board", "import"], "'import' is a word of Python itself"),
        (["meter", "none"], "'none' is a word of Python itself"),  # None, as a class
        (["method", "true"], "'true' is a word of Python itself"),
        (["engine", "Mine"], "'Mine' is no name for a package"),
        (["engine", "../mine"], "is no name for a package"),
        (["engine", "a-name-that-is-too-long"], "take up to 16 lower-case letters"),
        (["engine", "there"], "there is there already: remove it, or take another name or --dir"),
    ],
)
def test_what_is_refused_writes_nothing(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("there").mkdir()
    assert main(["new", *arguments]) == 2
    assert sentence in capsys.readouterr().err
    assert [*Path().rglob("*")] == [Path("there")]
