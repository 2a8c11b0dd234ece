"""Which files of the tests need the training half: those that name it, and those that import what names it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
NAMES = re.compile(r"hil[./](training|trial)\b|from hil\.suite|hil_trial|TrialSpec")
IMPORTS = re.compile(r"^\s*(?:from ([\w.]+) )?import ([\w., ]+)", re.M)


def needs_training(path: Path) -> bool:
    """Return whether a file of the tests, a helper that it imports, or a conftest.py above them names the training half.

    A folder needs it if its conftest.py does.
    """
    begin = path / "conftest.py" if path.is_dir() else path
    seen: set[Path] = set()
    ahead = [begin] if begin.suffix == ".py" and begin.is_file() else []
    while ahead:
        file = ahead.pop()
        if file in seen or file == TESTS / "conftest.py":
            continue
        seen.add(file)
        text = file.read_text(encoding="utf-8")
        if NAMES.search(text):
            return True
        ahead += [*_above(file), *_imported(file, text)]
    return False


def _above(file: Path) -> Iterator[Path]:
    folders = (folder for folder in file.parents if folder.is_relative_to(TESTS))
    return (folder / "conftest.py" for folder in folders if (folder / "conftest.py").is_file())


def _imported(file: Path, text: str) -> Iterator[Path]:
    """Yield the files of the tests that a file imports: by a path, or bare, as pytest's `pythonpath` and rootdir allow."""
    for module, names in IMPORTS.findall(text):
        dots = len(module) - len(module.lstrip("."))
        if not dots and module.partition(".")[0] != "tests":
            bare = [module] if module else re.split(r"[, ]+", names)
            yield from (path for word in bare for path in _helpers().get(word, ()))
            continue
        base = file.parents[dots - 1] if dots else TESTS.parent
        place = base.joinpath(*filter(None, module.lstrip(".").split(".")))
        for found in (
            place.with_suffix(".py"),
            *(place / f"{name}.py" for name in ("__init__", *re.split(r"[, ]+", names))),
        ):
            if found.is_file():
                yield found


@cache
def _helpers() -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for path in TESTS.rglob("*.py"):
        if not path.name.startswith("test_") and path.name not in ("conftest.py", "__init__.py", Path(__file__).name):
            found.setdefault(path.stem, []).append(path)
    return found
