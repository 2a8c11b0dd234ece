"""Folders that a wheel has inside of the package and a checkout has elsewhere."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def packaged_folder(installed: str, checkout: str) -> Path:
    """Return a folder of data.

    Args:
        installed: its path below the installed package (pyproject.toml, force-include).
        checkout: its path below the top of a checkout.
    """
    folder = PACKAGE / installed
    return folder if folder.is_dir() else PACKAGE.parent / checkout
