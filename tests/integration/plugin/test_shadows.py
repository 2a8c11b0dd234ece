"""A file of the project with the name of a library: refused with one sentence, unless it does no harm."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from user_project import Project

TEST = "def test_mine(hil_board, hil_trial):\n    hil_trial(spec(hil_board))\n"
MODULE, SCRIPT = [sys.executable, "-m", "pytest"], [str(Path(sys.executable).with_name("pytest"))]


def ended(project: Project, start: list[str], *options: str) -> tuple[int, str]:
    command = [*start, "-p", "no:cacheprovider", "--board=stm32h7b3", *options, "test_mine.py"]
    done = subprocess.run(
        command, cwd=project.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=400, check=False,
        env=os.environ | {"TMPDIR": str(project.folder)},
    )  # fmt: skip
    return done.returncode, done.stdout


@pytest.mark.parametrize(("name", "start"), [("pandas", SCRIPT), ("pyarrow", MODULE), ("numpy", MODULE)])
def test_the_file_is_named(project: Project, name: str, start: list[str]) -> None:
    """numpy is imported with the plugin, pyarrow when the record is written, and pandas by pyarrow."""
    (project.write(TEST).folder / f"{name}.py").touch()
    code, out = ended(project, start, "-n", "0")
    sentence = f"{name}.py is imported instead of the library {name!r}, which trainrig needs: rename it, and run again."
    assert code == pytest.ExitCode.USAGE_ERROR and sentence in out, out
    assert "Traceback" not in out and not list((project.folder / "reports").glob("2*"))


def test_a_package_that_only_the_workers_see(project: Project) -> None:
    """pytest puts the folder of the tests on the path of the process that collects them."""
    (project.write(TEST).folder / "pandas").mkdir()
    (project.folder / "pandas/__init__.py").touch()
    code, out = ended(project, SCRIPT, "-n", "1")
    assert code == 1 and "REFUSED" in out and "AttributeError" not in out, out
    found = (project.folder / "reports/latest/results.json").read_text()
    assert '"verdict": "refused"' in found and "pandas is imported instead of the library" in found


def test_a_file_that_does_no_harm(project: Project) -> None:
    """The library was loaded before, or trainrig does not need it."""
    for name in ("json", "chunk", "torch", "helpers"):
        (project.write(TEST).folder / f"{name}.py").touch()
    code, out = ended(project, SCRIPT, "-n", "0")
    assert code == 75 and "1 blocked" in out, out
