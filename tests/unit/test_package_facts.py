"""What a package index shows of the project: the authors of CITATION.cff, and words to find it by."""

from __future__ import annotations

import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_authors_are_those_to_cite() -> None:
    named = re.findall(r"^ +- name: (.+)$", CITATION, re.M)
    assert named and [author["name"] for author in PROJECT["authors"]] == named


def test_the_keywords_of_the_citation_are_among_those_of_the_package() -> None:
    words = re.findall(r"^  - (.+)$", CITATION.split("\nkeywords:\n")[1], re.M)
    assert words and set(words) <= set(PROJECT["keywords"])
