"""Folders of plugins that the tests write, and use in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hil import boards
from hil.plugins import examined, sentence
from hil.plugins.folders import VARIABLE, use_folders

BOARD = (boards.catalogue.FOLDER / "mps2-an386.toml").read_text().partition("[budget]")[0]
Plugin = Callable[..., Path]


@pytest.fixture(autouse=True)
def no_other_plugins(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Begin without folders, and forget afterwards what the test has put on the path."""
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.setattr(sys, "path", list(sys.path))
    known = set(sys.modules)
    yield
    for name in set(sys.modules) - known:
        if name.startswith("plug_"):
            del sys.modules[name]


@pytest.fixture
def plugin() -> Plugin:
    """Write a folder with a module, the file of a board, and entry points `group: name = value`; use it."""

    def write(folder: Path, code: str, *entries: str, name: str = "acme-rig", board: str = BOARD) -> Path:
        module = f"plug_{folder.name.replace('-', '_')}"
        folder.mkdir()
        (folder / f"{module}.py").write_text(f"from pathlib import Path\nBOARDS = Path(__file__).parent\n{code}\n")
        (folder / "acme.toml").write_text(board)
        lines = ["[project]", f'name = "{name}"', 'version = "1.0"']
        for entry in entries:
            group, _, rest = entry.partition(": ")
            key, _, value = rest.partition(" = ")
            lines.append(f'entry-points."trainrig.{group}"."{key}" = "{value.replace("M:", module + ":")}"')
        (folder / "pyproject.toml").write_text("\n".join(lines) + "\n")
        use_folders([folder])
        return folder

    return write


@pytest.fixture
def said() -> Callable[[], list[str]]:
    """Return the sentences of everything that is broken."""

    def sentences() -> list[str]:
        offers, errors = examined()
        return [sentence(error) for error in [*(error for _, error in offers if error is not None), *errors]]

    return sentences
