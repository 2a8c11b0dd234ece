"""Coverage for forges: lcov's tracefile beside lcov itself, and Cobertura's XML by its numbers."""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from hil.coverage.exports import cobertura, lcov
from hil.coverage.source_file import FileCoverage

FILES = [
    FileCoverage("engine/a.c", {3: True, 4: True, 9: False}, {3: {"engine/a.c:4": True, "engine/a.c:9": False}, 9: {"elsewhere": False}}),
    FileCoverage("kernels/<b>&.h", {1: True}),
]  # fmt: skip


def test_a_tracefile() -> None:
    assert lcov(FILES[:1]).splitlines() == [
        "TN:", "SF:engine/a.c", "BRDA:3,0,0,1", "BRDA:3,0,1,0", "BRDA:9,0,0,-", "BRF:3", "BRH:1",
        "DA:3,1", "DA:4,1", "DA:9,0", "LF:3", "LH:2", "end_of_record",
    ]  # fmt: skip


@pytest.mark.skipif(shutil.which("lcov") is None, reason="the oracle is lcov: apt install lcov")
def test_lcov_reads_the_same_numbers(tmp_path: Path) -> None:
    (tmp_path / "lcov.info").write_text(lcov(FILES))
    command = ["lcov", "--rc", "lcov_branch_coverage=1", "--summary", str(tmp_path / "lcov.info")]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    said = ended.stdout + ended.stderr
    assert re.search(r"lines\.*: 75\.0% \(3 of 4 lines\)", said) and re.search(r"branches\.*: 33\.3% \(1 of 3", said), (
        said
    )


def test_cobertura() -> None:
    root = ET.fromstring(cobertura(FILES, "1.2"))
    assert (root.tag, root.get("lines-valid"), root.get("lines-covered")) == ("coverage", "4", "3")
    assert (root.get("branches-valid"), root.get("branches-covered"), root.get("line-rate")) == ("3", "1", "0.7500")
    assert [package.get("name") for package in root.iter("package")] == ["engine", "kernels"]
    first, second = root.iter("class")
    assert (first.get("filename"), first.get("line-rate"), first.get("branch-rate")) == (
        "engine/a.c",
        "0.6667",
        "0.3333",
    )
    assert (second.get("filename"), second.get("branch-rate")) == ("kernels/<b>&.h", "1.0000")
    assert [dict(line.attrib) for line in first.iter("line")] == [
        {"number": "3", "hits": "1", "branch": "true", "condition-coverage": "50% (1/2)"},
        {"number": "4", "hits": "1", "branch": "false"},
        {"number": "9", "hits": "0", "branch": "true", "condition-coverage": "0% (0/1)"},
    ]


def test_a_source_of_the_checkout_has_the_path_that_a_forge_knows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(Path(__file__).parents[3])
    assert "SF:firmware/engine/plan.c\n" in lcov([FileCoverage("engine/plan.c", {1: True})])
    monkeypatch.chdir(tmp_path)
    assert "SF:engine/plan.c\n" in lcov([FileCoverage("engine/plan.c", {1: True})])
