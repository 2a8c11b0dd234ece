"""The example of docs/data.md, "Data of your own", is run as it stands there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hil.data.own.statement import Statement, read_statement

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/data.md").read_text(encoding="utf-8")
SECTION = PAGE.split("\n## Data of your own\n")[1].split("\n## ")[0]
BLOCKS = [
    re.sub(r"(?m)^    ", "", block).strip() + "\n"
    for block in re.findall(r"(?:(?:^    .*)?\n)+", SECTION, re.M)
    if block.strip()
]
NIGHTLY = pytest.mark.tier("nightly")


def blocks(first: str) -> str:
    """Return the indented block that begins with these words."""
    (found,) = [block for block in BLOCKS if block.startswith(first)]
    return found


COMMANDS = blocks("python3 make_data.py").splitlines()


def run(folder: Path, command: str) -> str:
    """Run a command as a user does whose programs are those of this environment."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for name in [name for name in environment if name.startswith("PYTEST")]:
        del environment[name]  # the session that runs this one is not its parent
    ended = subprocess.run(
        command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=1800
    )
    said = ended.stdout + ended.stderr
    assert ended.returncode == 0 and "Traceback" not in said, said
    return said


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pytest.importorskip("PIL", reason="images need the extra `images`")
    shutil.copy(ROOT / "rig.toml", tmp_path)
    (tmp_path / "make_data.py").write_text(blocks("import numpy"))
    (tmp_path / "test_mine.py").write_text(blocks("from hil.trial"))
    return tmp_path


def test_data_are_made_and_have_cards(folder: Path) -> None:
    said = "".join(run(folder, command) for command in COMMANDS if command.startswith(("python3", "hil data card")))
    assert "Screws@28x28x1" in said and "licence  CC0" in said and "images   28x28x1" in said
    assert "kind     npz, shakes.npz" in said and "1  slow" in said


@NIGHTLY
def test_every_command_of_the_example(folder: Path) -> None:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    said = [run(folder, command) for command in COMMANDS]
    assert len(said) == 5 and "1 passed" in said[3] and "pass" in said[4]


def test_the_keys_of_the_card_are_those_that_are_read(tmp_path: Path) -> None:
    text = blocks('name = "Screws"')
    (tmp_path / "card.toml").write_text(text)
    assert read_statement(tmp_path) == Statement("Screws", "CC0", "line 3, March")
    assert set(re.findall(r"(?m)^(\w+) =", text)) == set(Statement.__dataclass_fields__)
