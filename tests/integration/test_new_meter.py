"""A meter that does not exist, the Northwind PM10, is a package of its own, as docs/new-board.md says.

It measures a window, and nothing of this package is changed.
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

from hil.plugins.folders import VARIABLE

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
ADDED = HERE / "northwind"
KEY = "northwind-pm10"
FILES = ("pyproject.toml", "northwind_pm10/__init__.py", "northwind_pm10/driver.py", f"northwind_pm10/{KEY}.toml")
SHEET_TESTS = Path("tests/unit/energy/test_data_sheets.py")


def run(*command: str | Path) -> str:
    """Run Python with the folder of the meter among the plugins, and return what it prints."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "tests/unit/meters"), VARIABLE: str(ADDED)}
    done = subprocess.run([sys.executable, *command], cwd=HERE, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    """Return what `read_meter.py` says."""
    pytest.importorskip("llvmlite", reason="the virtual meters need the extra `virtual`")
    answer: dict[str, Any] = json.loads(run(HERE / "read_meter.py").splitlines()[-1])
    return answer


def test_the_page_has_the_files() -> None:
    page = (ROOT / "docs/new-board.md").read_text()
    for file in FILES:
        assert (ADDED / file).is_file() and f"`{file}`" in page, f"docs/new-board.md does not name {file}"
    for name, file in (("pyproject.toml", FILES[0]), ("__init__.py", FILES[1])):
        for line in (ADDED / file).read_text().splitlines():
            assert line in page, f"docs/new-board.md does not have a line of {name}: {line}"


def test_the_tests_of_every_data_sheet_take_it(tmp_path: Path) -> None:
    shutil.copy(ROOT / SHEET_TESTS, tmp_path)
    names = run("-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-k", KEY, str(tmp_path))
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
