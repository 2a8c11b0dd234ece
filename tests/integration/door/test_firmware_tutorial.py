"""docs/tutorial-firmware.md, followed as it stands there in an empty folder, from its firmware on."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from hil.record import read_run
from tests.one_process import one_process

PAGE = (Path(__file__).parents[3] / "docs/tutorial-firmware.md").read_text(encoding="utf-8")
TEXT = PAGE.split("\n## Examples\n")[0]
BLOCKS = [textwrap.dedent(block).strip() for block in re.findall(r"(?:(?:^    .*)?\n)+", TEXT, re.M) if block.strip()]
pytestmark = pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="qemu-system-arm is not installed")


def block(first: str) -> str:
    """Return the block of the page that begins with these words."""
    (found,) = [each for each in BLOCKS if each.startswith(first)]
    return found


def plain(text: str) -> str:
    return " ".join(text.split())


def run(folder: Path) -> str:
    program, *words = block("pytest ").split()
    assert program == "pytest"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *one_process(*words)],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout + done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("arm-none-eabi-gcc is not installed")
    (tmp_path / "mine.c").write_text(block("#include"))
    (tmp_path / "mine.ld").write_text(block("ENTRY("))
    subprocess.run(block("arm-none-eabi-gcc").replace("\\\n", " ").split(), cwd=tmp_path, check=True)
    (tmp_path / "test_mine.py").write_text(block("import numpy"))
    return tmp_path


def test_it_passes_and_says_what_the_page_says(folder: Path) -> None:
    said = run(folder)
    assert plain(block("verdict  board")) in plain(said)
    (entry,) = read_run((folder / "reports/latest").resolve()).device_tests
    log = (folder / "reports/latest" / entry.folder / "serial.log").read_text()
    came = "".join(ast.literal_eval(line.split(" ", 2)[2]) for line in log.splitlines() if " < " in line)
    assert "\n".join(entry.judged) == block("20 steps")
    assert came.replace("\r", "").startswith(block("ready 12"))  # nothing is lost, in whatever pieces it came


def test_the_defect_of_the_page_is_named(folder: Path) -> None:
    before, after = re.search(r"`(np\S+)` becomes `(np\S+)`", TEXT).groups()
    text = (folder / "test_mine.py").read_text()
    assert before in text
    (folder / "test_mine.py").write_text(text.replace(before, after))
    assert plain(block("fail: ")) in plain(run(folder))


def test_the_table_of_rig_toml_is_one(tmp_path: Path) -> None:
    from hil.rig import read_bench

    (tmp_path / "rig.toml").write_text(block("[[board]]"))
    assert read_bench(tmp_path / "rig.toml").board[0].elf == str(tmp_path / "build/mine.elf")
