"""The quick tier reaches the engine, the formats, the methods and the kernels of every board that records coverage."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hil import boards
from hil.coverage import Totals, read_coverage

ROOMS = ("engine/", "formats/", "methods/", "kernels/")
LINES, OUTCOMES = 0.95, 0.85
BOARDS = [name for name in boards.names() if boards.load(name).stand_in == "virtual"]


@pytest.mark.tier("nightly")
@pytest.mark.parametrize("board", BOARDS)
def test_lines_and_outcomes_of_branches(board: str, tmp_path: Path) -> None:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    command = [
        sys.executable,
        "-m",
        "pytest",
        f"--board={board}",
        "--reality=virtual",
        f"--report-dir={tmp_path}",
        "-q",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = read_coverage([tmp_path / "latest"]).boards
    totals = Totals.of(file for file in found.files if file.name.startswith(ROOMS))
    missed = [f"{file.name}:{line}" for file in found.files if file.name.startswith(ROOMS) for line in file.missed]
    assert totals.reached >= LINES * totals.lines, f"{totals}: never reached are {', '.join(missed)}"
    assert totals.occurred >= OUTCOMES * totals.outcomes, f"{totals}: never reached are {', '.join(missed)}"
