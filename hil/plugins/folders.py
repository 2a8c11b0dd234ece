"""The folders of plugins that rig.toml names: packages with a pyproject.toml that need not be installed.

The folders are in an environment variable, so that programs which the rig starts (virtual boards, workers) know them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hil.bounded_read import SMALL_TEXT, read_toml
from hil.errors import RigError, short_path
from hil.plugins.offer import GROUP, Offer, Source

VARIABLE = "TRAINRIG_PLUGINS"
BENCH, KEY, PROJECT = "rig.toml", "plugins", "pyproject.toml"


def use_folders(folders: Iterable[Path]) -> None:
    """Use these folders, in addition to those in use, in this process and in those that it starts."""
    known = [path for path in os.environ.get(VARIABLE, "").split(os.pathsep) if path]
    os.environ[VARIABLE] = os.pathsep.join(dict.fromkeys([*known, *(str(folder.absolute()) for folder in folders)]))


def folders() -> list[Path]:
    """Return the folders in use: those of the rig.toml that was read, else of the one in the working folder.

    Raises:
        RigError: that file cannot be read.
    """
    named = os.environ.get(VARIABLE)
    if named is not None:
        return [Path(path) for path in named.split(os.pathsep) if path]
    return _named_in(Path(BENCH))


def use_folders_of(path: Path) -> None:
    """Use the folders that a rig.toml names; of one that cannot be read, whoever reads all of it says why."""
    with contextlib.suppress(RigError):
        use_folders(_named_in(path))


def _named_in(path: Path) -> list[Path]:
    if not os.path.lexists(path):
        return []
    listed = read_toml(path, SMALL_TEXT, "correct it")[1].get(KEY, [])
    if not isinstance(listed, list) or not all(isinstance(folder, str) for folder in listed):
        raise RigError(f'{path.name}, key {KEY}: it is not a list of folders: write {KEY} = ["FOLDER"].')
    return [path.parent.absolute() / folder for folder in listed]


def offers_of(folder: Path) -> list[Offer]:
    """Return what a folder offers, by the entry points in its pyproject.toml.

    Raises:
        RigError: there is no such folder, or its pyproject.toml is missing, damaged, or offers nothing.
    """
    place = short_path(folder)
    if not folder.is_dir():
        raise RigError(f"there is no folder of plugins {place}: correct `{KEY}` in rig.toml.")
    text = read_toml(
        folder / PROJECT, SMALL_TEXT, f"a folder of plugins has one (`hil new board NAME` writes it): {place}"
    )
    project = _table(text[1], "project")
    source = Source(str(project.get("name", folder.name)), str(project.get("version", "")), folder)
    found = [
        Offer(group.removeprefix(GROUP), name, str(value), source)
        for group, entries in _table(project, "entry-points").items()
        if group.startswith(GROUP) and isinstance(entries, dict)
        for name, value in entries.items()
    ]
    if not found:
        raise RigError(
            f'{place}/{PROJECT} offers nothing to trainrig: add a table [project.entry-points."{GROUP}boards"] '
            f"or of another kind, or take the folder out of `{KEY}` in rig.toml."
        )
    return found


def _table(parent: dict[str, Any], key: str) -> dict[str, Any]:
    found = parent.get(key, {})
    return found if isinstance(found, dict) else {}
