"""Every command of the tutorial in docs/tflite.md is run as it stands there, and prints what stands there."""

from __future__ import annotations

import hashlib
import shutil
import sys
from pathlib import Path

import pytest
from docs_page import ROOT, Page, run

PAGE = Page.of("tflite.md", "Tutorial: from a .tflite to an adapted one")
FILES = {
    "make_pictures.py": "from pathlib",
    "test_adapt.py": "from hil.trial",
    "plot.py": "import json",
    "compare.py": "import numpy",
}
MODEL = "fixtures/models/fashion.tflite"
NIGHTLY = pytest.mark.tier("nightly")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pytest.importorskip("PIL", reason="images need the extra `images`")
    for name in ("rig.toml", MODEL):
        shutil.copy(ROOT / name, tmp_path)
    for name, first in FILES.items():
        (tmp_path / name).write_text(PAGE.block(first))
    return tmp_path


def all_of(folder: Path, first: str) -> str:
    """Run the commands of the block that begins with these words."""
    return "".join(run(folder, command) for command in PAGE.block(first).splitlines())


def test_every_block_is_run_here() -> None:
    commands = ("python make_pictures.py", "hil network import", "pytest", "python plot.py", "hil network export")
    shown = ("python3 -m venv", "verdict", "python compare.py", "fashion.tflite:")
    for first in (*FILES.values(), *commands, *shown):
        assert PAGE.block(first)
    assert len(PAGE.blocks) == len((*FILES, *commands, *shown))


def test_pictures_and_network(folder: Path) -> None:
    said = all_of(folder, "python make_pictures.py")
    assert "Noisy clothes@28x28x1" in said and "9  9-boot  100 + 50" in said
    said = all_of(folder, "hil network import")
    assert "single in fully_connected" in said and "2: conv2" in said and "variants fit" in said


def test_the_model_is_that_of_its_script(tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert", reason="the schema needs the extra `test`")
    run(ROOT, f"{sys.executable} -m tests.unit.tflite_models.tutorial_model {tmp_path / 'made.tflite'}")
    made = (tmp_path / "made.tflite").read_bytes()
    assert hashlib.sha256(made).digest() == hashlib.sha256((ROOT / MODEL).read_bytes()).digest()


@NIGHTLY
def test_training_export_and_comparison(folder: Path) -> None:
    for needed in ("unicorn", "ai_edge_litert", "matplotlib"):
        pytest.importorskip(needed)
    all_of(folder, "python make_pictures.py")
    all_of(folder, "hil network import")
    said = all_of(folder, "pytest")
    assert "1 passed" in said
    verdict = PAGE.block("verdict").splitlines()[1].split()
    assert " ".join(verdict) in " ".join(said.split())
    all_of(folder, "python plot.py")
    assert "<svg" in (folder / "adapted.svg").read_text()
    all_of(folder, "hil network export")
    assert all_of(folder, "python compare.py") == PAGE.block("fashion.tflite:")
