"""Find data folders that are inside the package in a wheel, and elsewhere in a checkout."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def packaged_folder(installed: str, checkout: str) -> Path:
    """Return a data folder: `installed` in the package (pyproject.toml, force-include), or `checkout` in a checkout."""
    folder = PACKAGE / installed
    return folder if folder.is_dir() else PACKAGE.parent / checkout
