"""The wheel: everything that an installed trainrig reads is in it, and its metadata say what the project promises."""

from __future__ import annotations

import re
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

from hil.commands.agent import library_files

ROOT = Path(__file__).parents[3]
MADE = {"__pycache__"}  # folders that a run leaves behind


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    builder = pytest.importorskip("hatchling.builders.wheel", reason="pip install -e '.[dev]'").WheelBuilder(str(ROOT))
    (path,) = builder.build(directory=str(tmp_path_factory.mktemp("wheel")), versions=["standard"])
    return zipfile.ZipFile(path)


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return Parser().parsestr(wheel.read(name).decode())


def files_of(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and not MADE & set(path.parts)
    }


def test_every_file_of_the_package_is_in_it(wheel: zipfile.ZipFile) -> None:
    there = {name.removeprefix("hil/") for name in wheel.namelist() if name.startswith("hil/")}
    assert files_of(ROOT / "hil") <= there
    assert {f"prebuilt/{name}" for name in files_of(ROOT / "firmware/prebuilt")} <= there


def test_the_agent_as_a_library_is_in_it(wheel: zipfile.ZipFile) -> None:
    there = set(wheel.namelist())
    for path in library_files().values():
        assert f"hil/{path.relative_to(ROOT).as_posix()}" in there


def test_type_checkers_read_its_annotations(wheel: zipfile.ZipFile, metadata: Message) -> None:
    assert "hil/py.typed" in wheel.namelist()
    assert "Typing :: Typed" in metadata.get_all("Classifier", [])


def test_nothing_beside_the_package_is_in_it(wheel: zipfile.ZipFile) -> None:
    assert {name.split("/")[0].split("-")[0] for name in wheel.namelist()} == {"hil", "trainrig"}


def test_the_versions_of_python_are_those_that_the_workflow_runs(metadata: Message) -> None:
    named = [name.rpartition(" ")[2] for name in metadata.get_all("Classifier", []) if re.search(r":: 3\.\d+$", name)]
    (matrix,) = re.findall(r"python: (\[.*\])", (ROOT / ".github/workflows/gate.yml").read_text(encoding="utf-8"))
    assert re.findall(r"3\.\d+", matrix) == named
    assert metadata["Requires-Python"] == f">={named[0]}"
