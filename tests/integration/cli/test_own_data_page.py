"""The example of docs/data.md, "Data of your own", is run as it stands there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from docs_page import ROOT, Page, run

from hil.training.data.own.statement import Statement, read_statement

PAGE = Page.of("data.md", "Data of your own")
COMMANDS = PAGE.block("python3 make_data.py").splitlines()
NIGHTLY = pytest.mark.tier("nightly")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pytest.importorskip("PIL", reason="images need the extra `images`")
    shutil.copy(ROOT / "rig.toml", tmp_path)
    (tmp_path / "make_data.py").write_text(PAGE.block("import numpy"))
    (tmp_path / "test_mine.py").write_text(PAGE.block("from hil.trial"))
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
    text = PAGE.block('name = "Screws"')
    (tmp_path / "card.toml").write_text(text)
    assert read_statement(tmp_path) == Statement("Screws", "CC0", "line 3, March")
    assert set(re.findall(r"(?m)^(\w+) =", text)) == set(Statement.__dataclass_fields__)
