"""A pytest without --board loads almost nothing of trainrig, whoever has it installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEAVY = {
    "alembic", "cryptography", "distributed", "elftools", "filelock", "jinja2", "numpy", "pandas", "plotly", "pyarrow",
    "pydantic", "pyocd", "pyvisa", "rich", "serial", "sqlalchemy", "unicorn", "xxhash",
}  # fmt: skip
SESSION = """
import sys, pytest
before = set(sys.modules)
code = pytest.main(["-q", "-p", "no:cacheprovider"])
print(*sorted(name for name in set(sys.modules) - before if name.partition(".")[0] == "hil"), sep=",")
print(*{name.partition(".")[0] for name in sys.modules}, sep=",")
sys.exit(code)
"""


def test_an_empty_test_of_a_foreign_folder(tmp_path: Path) -> None:
    (tmp_path / "test_empty.py").write_text("def test_nothing():\n    pass\n")
    done = subprocess.run([sys.executable, "-c", SESSION], cwd=tmp_path, capture_output=True, text=True, check=True)
    ours, loaded = (set(line.split(",")) for line in done.stdout.splitlines()[-2:])
    assert "hil.plugin" in ours and len(ours) <= 24, sorted(ours)
    assert not HEAVY & loaded


def test_help_and_fixtures_name_what_there_is(tmp_path: Path) -> None:
    for option, words in (("--help", ("--board=NAME", "--energy-rules")), ("--fixtures", ("hil_trial", "hil_dut"))):
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", option]
        said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        assert all(word in said for word in words)
