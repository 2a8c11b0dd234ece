"""Lines of the written pages have at most 120 characters, as those of the code; rows of tables may be longer."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
LONGEST = 120


def test_lines_of_the_pages_are_short() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("fixtures/*.md"), *ROOT.glob("fixtures/*/*.md")]
    long = [
        f"{page.relative_to(ROOT)}:{number}"
        for page in pages
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > LONGEST and not line.startswith("|")
    ]
    assert len(pages) > 30 and not long, f"wrap these lines at {LONGEST} characters: {', '.join(long)}"
