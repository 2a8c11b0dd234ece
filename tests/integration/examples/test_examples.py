"""The examples (docs/tutorial-firmware.md), each in a copy of its folder: the commands of its README, and its failure."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from hil.record import read_run
from tests.one_process import one_process

EXAMPLES = Path(__file__).parents[3] / "examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/README.md"))
PROGRAMS = ("make", "gcc", "arm-none-eabi-gcc", "qemu-system-arm")
HEX = re.compile(r"-?\d+\.\d+ \(0x\w+\)|by [\d.]+ at most \([\d,]+ ulp\)")  # the last bits depend on the C library
HANG_S = 600


def blocks(readme: str) -> list[str]:
    found = re.findall(r"(?:(?:^    .*)?\n)+", readme, re.M)
    return [textwrap.dedent(block).strip("\n") for block in found if block.strip()]


def plain(text: str) -> str:
    return HEX.sub("...", " ".join(text.split()))


def execute(command: str, folder: Path) -> tuple[int, str]:
    """Run a line of a README, and return exit code and output."""
    words = command.split()
    if words[0] == "pytest":
        words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *one_process(*words[1:])]
    done = subprocess.run(
        words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=HANG_S, check=False,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
        | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
    )  # fmt: skip
    return done.returncode, done.stdout


@pytest.fixture
def copy(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    for program in PROGRAMS:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    name = request.getfixturevalue("name")
    return Path(shutil.copytree(EXAMPLES / name, tmp_path / name, ignore=shutil.ignore_patterns("build", "reports")))


@pytest.mark.parametrize("name", NAMES)
def test_it_does_what_its_readme_says(name: str, copy: Path) -> None:
    readme = (copy / "README.md").read_text(encoding="utf-8")
    runs, (failure,) = readme.split("## A failure\n")[0], re.findall(r"## A failure\n(.*?)\n## ", readme, re.S)
    commands = [block for block in blocks(runs) if "pytest " in block]
    assert commands
    for command in "\n".join(commands).splitlines():
        code, said = execute(command, copy)
        assert code == 0 and "warning" not in said, said
        if command.startswith("pytest"):
            assert "1 tests: 1 pass; 1 of them on a device." in said and "report: " in said, said
    broken, said_there = blocks(failure)
    *builds, test = broken.splitlines()
    for command in builds:
        code, said = execute(command, copy)
        assert code == 0, said
    code, said = execute(test, copy)
    assert code == 1 and plain(said_there) in plain(said) and "report: " in said, said
    (verdict,) = read_run((copy / "reports/latest").resolve()).tests
    assert verdict.verdict == "fail"


def test_each_example_is_small_and_a_project_of_its_own() -> None:
    assert NAMES == ["float-mlp", "int8-engine", "zephyr-printer"]
    for name in NAMES:
        files = {path.name for path in (EXAMPLES / name).iterdir()}
        assert {"README.md", "Makefile", "pytest.ini"} <= files
