"""Lines of documents have at most 120 characters, as CONTRIBUTING.md says; ruff and the formatters hold those of code."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/**/*.md"),
    *ROOT.glob("fixtures/*/README.md"),
    ROOT / "fixtures/README.md",
]
MOST = 120


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_lines_of_a_page(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    tables = [line.lstrip().startswith("|") for line in lines]
    long = [number for number, line in enumerate(lines, 1) if len(line) > MOST and not tables[number - 1]]
    assert not long, f"lines {long} have more than {MOST} characters"
