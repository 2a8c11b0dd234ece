"""Test files of folders that are no packages have names of their own: pytest imports each by its name alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[1]


def module_name(path: Path) -> str:
    """Return the name by which pytest imports a test file: from the highest folder that is a package (`prepend`)."""
    parts = [path.stem]
    for folder in path.parents:
        if not (folder / "__init__.py").exists():
            return ".".join(reversed(parts))
        parts.append(folder.name)
    raise AssertionError(path)


def test_no_two_test_files_have_the_same_module_name() -> None:
    names = Counter(module_name(path) for path in TESTS.rglob("test_*.py"))
    twice = sorted(name for name, files in names.items() if files > 1)
    assert len(names) > 400 and not twice, f"rename one of the files of each of these: {', '.join(twice)}"


def test_nothing_imports_from_a_conftest() -> None:
    """There are many of that name: which one is imported depends on the tests that were collected before."""
    assert not [
        path for path in TESTS.rglob("*.py") if "\nfrom " + "conftest import" in path.read_text(encoding="utf-8")
    ]
