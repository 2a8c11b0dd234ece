"""Files of the working folder with names of libraries change nothing in the processes that the rig starts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hil
from hil.child_process import module_command

ROOT = Path(hil.__file__).parent
SHADOWS = (
    "random",
    "serial",
    "usb",
    "numpy",
    "queue",
    "socket",
    "runpy",
    "pkgutil",
    "pyocd",
    "unicorn",
    "logging",
    "json",
)
STARTS = re.compile(r"sys\.executable")


@pytest.fixture
def shadowed(tmp_path: Path) -> Path:
    for name in SHADOWS:
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name}.py of the working folder was run')\n")
    return tmp_path


@pytest.mark.parametrize(
    "environment",
    [{}, {"PYTHONPATH": "."}, {"PYTHONPATH": "", "PYTHONSAFEPATH": "1"}],
    ids=["plain", "PYTHONPATH", "safe"],
)
@pytest.mark.parametrize(
    "module", ["hil.targets.probe_child", "hil.standins.virtual", "hil.standins.renode", "pip", "hil.commands.main"]
)
def test_no_file_of_the_working_folder_is_run(shadowed: Path, module: str, environment: dict[str, str]) -> None:
    if module == "pip":
        pytest.importorskip("pip")
    command = module_command(module, *(["--help"] if module != "hil.targets.probe_child" else ["99", "PyocdSession"]))
    done = subprocess.run(
        command,
        cwd=shadowed,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
    assert "of the working folder was run" not in done.stdout + done.stderr
    if module == "hil.targets.probe_child":
        assert "Bad file descriptor" in done.stderr or done.returncode == 1, done.stderr  # it came as far as its pipe
    else:
        assert done.returncode == 0 and "usage" in done.stdout.lower(), done.stderr


def test_arguments_and_exit_status_are_those_of_the_module(tmp_path: Path) -> None:
    package = tmp_path / "packages" / "made_up"
    package.mkdir(parents=True)
    (package / "__main__.py").write_text("import sys\nprint(sys.argv[1:], __name__, __package__)\nsys.exit(7)\n")
    environment = os.environ | {"PYTHONPATH": str(package.parent)}
    done = subprocess.run(
        module_command("made_up", "a b", "--c"), cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (7, "['a b', '--c'] __main__ made_up\n"), done.stderr


def test_the_package_is_found_where_it_is_not_installed(tmp_path: Path) -> None:
    """A checkout that is on the path of its parent only."""
    program = f"import subprocess, sys; sys.path.append({str(ROOT.parent)!r}); from hil.child_process import module_command; " \
              "sys.exit(subprocess.run(module_command('hil.standins.virtual', '--help'), stdout=subprocess.DEVNULL).returncode)"  # fmt: skip
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_no_other_module_starts_python() -> None:
    starting = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if STARTS.search(path.read_text(encoding="utf-8"))
    }
    assert starting == {"child_process.py"}
