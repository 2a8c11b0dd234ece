"""Find data folders that are inside the package in a wheel, and elsewhere in a checkout."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def packaged_folder(installed: str, checkout: str) -> Path:
    """Return the path of a data folder.

    Args:
        installed: path relative to the installed package (pyproject.toml, force-include).
        checkout: path relative to the top of a checkout.
    """
    folder = PACKAGE / installed
    return folder if folder.is_dir() else PACKAGE.parent / checkout
