"""Where the source files of a line table are on this computer: in the checkout, or as the compiler named them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hil.bounded_read import read_file
from hil.errors import RigError
from hil.packaged import PACKAGE

FIRMWARE = PACKAGE.parent / "firmware"  # of a checkout; a wheel has no sources
LARGEST = 1 << 20  # bytes of a source file


def located(name: str) -> Path | None:
    """Return the path of a source file, None if it is not on this computer."""
    for path in (FIRMWARE / name, Path(name)):
        if path.is_file():
            return path
    return None


def texts_of(names: Iterable[str]) -> dict[str, bytes]:
    """Return the contents of the source files that are on this computer, by name."""
    found = {}
    for name in sorted(set(names)):
        path = located(name)
        if path is not None:
            try:
                found[name] = read_file(path, LARGEST, "make it smaller")
            except RigError:
                continue  # a page shows its line numbers alone
    return found
