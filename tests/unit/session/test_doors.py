"""The doors of rooms: every public name comes from its file, and no file hides a name."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOMS = ("hil.standins", "hil.record")


@pytest.mark.parametrize("room", ROOMS)
def test_every_name_is_the_one_of_its_file_whatever_was_imported_before(room: str) -> None:
    package = import_module(room)
    files = {path.stem for path in Path(package.__file__ or "").parent.glob("*.py")}
    assert not files & set(package.__all__)  # such a file would take the place of the name
    every = f"""
import importlib, pathlib, sys
package = importlib.import_module({room!r})
for path in sorted(pathlib.Path(package.__file__).parent.glob("*.py")):
    importlib.import_module({room!r} if path.stem == "__init__" else f"{room}.{{path.stem}}")
for name in package.__all__:
    assert type(getattr(package, name)) is not type(sys), name
"""
    subprocess.run([sys.executable, "-c", every], check=True)


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="'hil.standins' has no attribute 'nothing'"):
        import_module("hil.standins").nothing  # noqa: B018
