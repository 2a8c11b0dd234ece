"""A meter that does not exist, the Northwind PM10, is added to a copy of the tree by the steps of docs/new-meter.md:

a data sheet, a driver and two lines. It then measures a window, and nothing else was changed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
ADDED = HERE / "northwind"
KEY = "northwind-pm10"
TWO = (Path(f"hil/meters/data_sheets/{KEY}.toml"), Path("hil/meters/northwind_pm10.py"))
OPEN = Path("hil/meters/open.py")
LINES = {  # the new line: the line that it stands behind
    "from hil.meters.northwind_pm10 import NorthwindPM10": "from hil.meters.meter import Host, Meter, Setting",
    f'    "{KEY}": NorthwindPM10,': '    "keysight-n6705c": KeysightN6705C,',
}
SHEET_TESTS = Path("tests/unit/energy/test_data_sheets.py")


def files(root: Path) -> dict[Path, bytes]:
    """Return what is in the package, without what Python leaves there."""
    found = [path for path in (root / "hil").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {path.relative_to(root): path.read_bytes() for path in found}


def run(tree: Path, *command: str | Path) -> str:
    """Run a command in the copy, which `import hil` takes, and return what it prints."""
    places = os.pathsep.join((str(tree), str(ROOT / "tests/unit/meters")))
    environment = os.environ | {"PYTHONPATH": places}
    done = subprocess.run([sys.executable, *command], cwd=tree, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the package with the meter in it."""
    folder = tmp_path_factory.mktemp("tree")
    shutil.copytree(ROOT / "hil", folder / "hil", ignore=shutil.ignore_patterns("__pycache__"))
    for path in TWO:
        shutil.copy(ADDED / path, folder / path)
    lines = (folder / OPEN).read_text().split("\n")
    for line, behind in LINES.items():
        lines.insert(lines.index(behind) + 1, line)
    (folder / OPEN).write_text("\n".join(lines))
    return folder


@pytest.fixture(scope="module")
def said(tree: Path) -> dict[str, Any]:
    """Return what `read_meter.py` says of the tree."""
    pytest.importorskip("llvmlite", reason="the virtual meters need the extra `virtual`")
    answer: dict[str, Any] = json.loads(run(tree, HERE / "read_meter.py").splitlines()[-1])
    assert Path(answer["from"]).is_relative_to(tree)
    return answer


def test_nothing_else_was_added_or_changed(tree: Path) -> None:
    ours, theirs = files(ROOT), files(tree)
    assert theirs.keys() - ours.keys() == set(TWO)
    assert {path for path in ours if theirs.get(path) != ours[path]} == {OPEN}
    left = [line for line in theirs[OPEN].decode().split("\n") if line not in LINES]
    assert left == ours[OPEN].decode().split("\n")


def test_the_page_has_the_steps() -> None:
    page = (ROOT / "docs/new-meter.md").read_text()
    for step in (*TWO, OPEN):
        assert f"`{step}`" in page, f"docs/new-meter.md does not name {step}"
    for line in LINES:
        assert line.strip() in page


def test_the_tests_of_every_data_sheet_take_it(tree: Path, tmp_path: Path) -> None:
    shutil.copy(ROOT / SHEET_TESTS, tmp_path)
    names = run(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", KEY, str(tmp_path))
    passed = re.search(r"^(\d+) passed, \d+ deselected", names, re.M)
    assert passed and int(passed[1]) >= 7, names


def test_it_measures_a_window(said: dict[str, Any]) -> None:
    """The edges hold the true ones, and the energy is the true one within what the readings can tell."""
    window = said["window"]
    assert said["listed"]
    assert (window["class"], window["identity"]) == ("NorthwindPM10", "Northwind,PM10,VIRTUAL,1.0")
    assert window["holds"] and window["lost"] == 0
    found, expected = window["energy"]
    assert found == pytest.approx(expected, rel=0.03)
    assert window["watched"] > 0


@pytest.mark.parametrize(
    ("case", "error", "sentence", "beyond_range"),
    [
        ("overload", "InvalidWindow", "readings of the Northwind PM10", True),
        ("lost", "InvalidWindow", "PM10 lost", False),
        ("range", "InvalidWindow", "range of 0.02 A", False),
        ("error", "Blocked", "-222", False),
        ("another", "Blocked", "Northwind,PM9", False),
    ],
)
def test_a_window_that_must_not_count(
    said: dict[str, Any], case: str, error: str, sentence: str, beyond_range: bool
) -> None:
    found, why, range_too_small = said[case]
    assert (found, range_too_small) == (error, beyond_range)
    assert sentence in why
