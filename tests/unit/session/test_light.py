"""What is loaded: almost nothing without --board, and no more than is used by sessions, commands and child processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "alembic", "cryptography", "distributed", "elftools", "filelock", "jinja2", "numpy", "pandas", "plotly", "pyarrow",
    "pydantic", "pyocd", "pyvisa", "rich", "serial", "sqlalchemy", "unicorn", "xxhash",
}  # fmt: skip
SESSION = """
import sys, pytest
before = set(sys.modules)
code = pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", *sys.argv[1:]])
print(*sorted(name for name in set(sys.modules) - before if name.partition(".")[0] == "hil"), sep=",")
print(*{name.partition(".")[0] for name in sys.modules}, sep=",")
sys.exit(code)
"""


COMMAND = """
import sys
from hil.commands.main import main
try:
    code = main(sys.argv[1:])
except SystemExit as end:
    code = end.code
print(*sys.modules, sep=",")
sys.exit(code)
"""


def loaded_by(program: str, folder: Path, *arguments: str) -> list[set[str]]:
    """Run a program in a process of its own; return the modules of its last two lines."""
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return [set(line.split(",")) for line in done.stdout.splitlines()[-2:]]


def test_an_empty_test_of_a_foreign_folder(tmp_path: Path) -> None:
    (tmp_path / "test_empty.py").write_text("def test_nothing():\n    pass\n")
    ours, loaded = loaded_by(SESSION, tmp_path)
    assert "hil.plugin" in ours and len(ours) <= 24, sorted(ours)
    assert not HEAVY & loaded


def test_an_empty_test_with_a_board(tmp_path: Path) -> None:
    """The history and the report of such a run need SQLAlchemy and Jinja; nothing is flashed, drawn or trained."""
    (tmp_path / "test_empty.py").write_text("def test_nothing():\n    pass\n")
    ours, loaded = loaded_by(SESSION, tmp_path, "-n", "0", "--board=stm32h7b3", "test_empty.py")
    assert {"hil.session.rig_session", "hil.report.page", "hil.history.store"} < ours and len(ours) <= 285, len(ours)
    used = {"elftools", "filelock", "jinja2", "numpy", "pyarrow", "pydantic", "rich", "serial", "sqlalchemy", "xxhash"}
    assert not HEAVY & loaded - used


def test_the_help_of_the_command(tmp_path: Path) -> None:
    loaded = loaded_by(COMMAND, tmp_path, "--help")[-1]
    assert "hil.commands.main" in loaded and len({name for name in loaded if name.startswith("hil")}) <= 20
    assert not HEAVY & {name.partition(".")[0] for name in loaded}


def test_a_model_is_imported_without_record_energy_and_methods(tmp_path: Path) -> None:
    pytest.importorskip("hil.training")
    model = Path(__file__).parents[3] / "fixtures/models/fashion.tflite"
    loaded = loaded_by(COMMAND, tmp_path, "network", "import", str(model), "--out", "fashion.hnet")[-1]
    assert (tmp_path / "fashion.hnet").is_file() and "hil.training.tflite.read" in loaded
    rooms = ("hil.record", "hil.energy", "hil.training.methods", "hil.training.reference", "hil.rig", "hil.history")
    assert not [name for name in loaded if name in rooms or name.startswith(tuple(f"{room}." for room in rooms))]


def test_the_probe_process_loads_no_image_and_no_record(tmp_path: Path) -> None:
    program = "import sys, hil.targets.probe_child; print(*sys.modules, sep=',')"
    loaded = loaded_by(program, tmp_path)[-1]
    assert "pyocd" in loaded and not {"numpy", "pydantic", "hil.images", "hil.record"} & loaded


def test_help_and_fixtures_name_what_there_is(tmp_path: Path) -> None:
    for option, words in (("--help", ("--board=NAME", "--energy-rules")), ("--fixtures", ("hil_trial", "hil_dut"))):
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", option]
        said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        assert all(word in said for word in words)
