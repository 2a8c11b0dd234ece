"""A library that only a part of the rig needs: one sentence names the extra that installs it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from hil.commands.main import main
from hil.errors import RigError
from hil.optional_library import EXTRAS, missing_library
from hil.report.page import packed_library

PROJECT = Path(__file__).parents[3] / "pyproject.toml"


def test_every_library_is_of_the_extra_that_the_table_names() -> None:
    """dask comes with distributed."""
    lines = dict(re.findall(r"^(\w+) = \[(.*?)\]", PROJECT.read_text(), re.MULTILINE | re.DOTALL))
    base = re.search(r"^dependencies = \[(.*?)^\]", PROJECT.read_text(), re.MULTILINE | re.DOTALL)
    assert base is not None
    for name, extra in EXTRAS.items():
        assert f'"{"distributed" if name == "dask" else name}>' in lines[extra], name
        assert f'"{name}>' not in base[1], name


def test_a_command_without_its_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("hil.training")
    monkeypatch.setitem(sys.modules, "tflite", None)  # as if it were not installed
    model = PROJECT.with_name("fixtures") / "models/fashion.tflite"
    assert main(["network", "import", str(model), f"--out={tmp_path / 'fashion.hnet'}"]) == 2
    said = capsys.readouterr().err
    assert "needs tflite, which is not installed" in said and 'pip install "trainrig[training]"' in said
    assert said.startswith("hil: ") and said.count("\n") == 1


def test_another_missing_module_is_a_fault_of_the_program() -> None:
    assert missing_library(ModuleNotFoundError("no", name="hil.nothing"), "a test") is None
    found = missing_library(ModuleNotFoundError("no", name="distributed.security"), "a test")
    assert isinstance(found, RigError) and "trainrig[training]" in str(found)


def test_pages_without_plotly(monkeypatch: pytest.MonkeyPatch) -> None:
    packed_library.cache_clear()
    assert "globalThis.packedPlotly" in packed_library()
    packed_library.cache_clear()
    monkeypatch.setattr("hil.report.page.find_spec", lambda name: None)
    assert packed_library() == ""
    packed_library.cache_clear()
