"""Sections about commands, run as they stand there: a command as a board, cases of a report, and any programmer."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from hil.record import read_run
from hil.rig import read_bench
from tests.one_process import one_process

DOCS = Path(__file__).parents[3] / "docs"
COMMAND, CASES, PROGRAMMER = "A command as a board", "Cases of Unity, GoogleTest and CTest", "Flash with any programmer"
PAGES = {COMMAND: "how-to/side-by-side.md", CASES: "how-to/side-by-side.md", PROGRAMMER: "recovery.md"}


def text_of(section: str) -> str:
    page = (DOCS / PAGES[section]).read_text(encoding="utf-8")
    return page.split(f"\n## {section}\n")[1].split("\n## ")[0]


def blocks(section: str) -> list[str]:
    found = re.findall(r"(?:(?:^    .*)?\n)+", text_of(section), re.M)
    return [textwrap.dedent(block).strip("\n") + "\n" for block in found if block.strip()]


def block(section: str, begin: str) -> str:
    """Return the block of a section that begins with these words."""
    (found,) = [each for each in blocks(section) if each.startswith(begin)]
    return found


def plain(text: str) -> str:
    return " ".join(text.split())


def test_the_example_of_a_command_as_a_board(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    (tmp_path / "train.c").write_text(block(COMMAND, "#include"))
    (tmp_path / "rig.toml").write_text(block(COMMAND, "[[board]]"))
    (tmp_path / "test_mine.py").write_text(block(COMMAND, "import numpy"))
    subprocess.run(block(COMMAND, "gcc ").split(), cwd=tmp_path, check=True)
    program, *words = block(COMMAND, "pytest").split()
    assert program == "pytest"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *one_process(*words)],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert plain(block(COMMAND, "verdict")) in plain(done.stdout)
    (entry,) = read_run((tmp_path / "reports/latest").resolve()).device_tests
    assert entry.steps_compared == 20 and entry.image is not None and entry.image["file"] == "train"
    html = (tmp_path / "reports/latest" / entry.folder / "index.html").read_text()
    (said,) = re.findall(r"`(No silicon here\. .*?)`", plain(text_of(COMMAND)))
    assert said in plain(re.sub("<[^>]*>", "", html))


def test_the_example_of_cases(tmp_path: Path) -> None:
    for name, begin in (("cases.py", "print("), ("rig.toml", "[[board]]"), ("test_cases.py", "def test_")):
        (tmp_path / name).write_text(block(CASES, begin))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *one_process(*block(CASES, "pytest").split()[1:])],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1 and plain(block(CASES, "fail: ")) in plain(done.stdout)


@pytest.mark.parametrize("section", [COMMAND, PROGRAMMER])
def test_every_table_and_command_of_rig_toml_on_the_pages_is_one(tmp_path: Path, section: str) -> None:
    text = text_of(section)
    tables = [each for each in blocks(section) if each.startswith("[[board]]")]
    commands = re.findall(r"^\| [^|]+ \| (?:`[a-z_]+ = )?`?(\[\"[^`]*\])`", text, re.M)
    run = section == COMMAND
    for command in commands:
        words = command.replace(", ...]", "]")
        kind = f'reality = "simulator"\nrun = {words}' if run else f'serial = "066F"\nprobe = "066F"\nflash = {words}'
        tables.append(f'[[board]]\nname = "stm32f746"\n{kind}\n')
    assert len(tables) > 4
    for table in tables:
        (tmp_path / "rig.toml").write_text(table)
        assert read_bench(tmp_path / "rig.toml").board
