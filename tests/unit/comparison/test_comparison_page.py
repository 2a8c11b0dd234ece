"""The programs of docs/tutorial-firmware.md, "Compare a device with a reference", print what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[3] / "docs/tutorial-firmware.md").read_text(encoding="utf-8")
PAGE = TEXT.split("\n## Compare a device with a reference\n")[1].split("\n## ")[0]
BLOCK = r"((?:    .*\n|\n)+)"
PROGRAMS = re.findall(rf"In `(\w+\.py)`:\n\n{BLOCK}[^`]*?\n    python (\w+\.py)\n\nIt prints:\n\n{BLOCK}", PAGE)


def test_every_program_of_the_page_is_run_here() -> None:
    assert len(PROGRAMS) == PAGE.count("\n    python ") == PAGE.count("In `") == 3


@pytest.mark.parametrize(("name", "program", "run", "printed"), PROGRAMS, ids=[each[0] for each in PROGRAMS])
def test_a_program_prints_what_the_page_says(tmp_path: Path, name: str, program: str, run: str, printed: str) -> None:
    assert name == run
    (tmp_path / name).write_text(textwrap.dedent(program))
    ended = subprocess.run([sys.executable, name], cwd=tmp_path, capture_output=True, text=True)
    # The page wraps long lines.
    assert (ended.stdout.split(), ended.stderr) == (printed.split(), "")
