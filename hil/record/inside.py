"""The inside of a run's folder. A record may come from anybody, as an archive: nothing in it leads out of its folder, neither a name nor a link."""

from __future__ import annotations

import re
from pathlib import Path

from hil.errors import RigError

PLAIN = re.compile(r"[A-Za-z0-9_@+-][A-Za-z0-9._@+-]*")  # names of folders and files that the rig makes
LONGEST = 200
AGAIN = "run the trials again"
CURE = "do not trust this record, or run the trials again"


def plain(name: str, what: str) -> str:
    """Return the name of a file or a folder, if it is the name of one and no path.

    Args:
        name: as a record gives it.
        what: it is, for a sentence.

    Raises:
        RigError: it is none.
    """
    if not PLAIN.fullmatch(name) or len(name) > LONGEST:
        shown = ascii(name) if len(name) <= 60 else f"{name[:60]!a}..."
        raise RigError(f"{what} is {shown}, which is no plain name: {CURE}.")
    return name


def folder_of(run: Path, name: str) -> Path:
    """Return the folder of a trial within that of its run; the disk may not have taken it.

    Raises:
        RigError: the name is none, or what has it is no folder but a link or a file.
    """
    folder = run / plain(name, f"{run}: the folder of a trial")
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise RigError(
            f"{folder} is {'a link' if folder.is_symlink() else 'no folder'}, where the record has a trial's: {CURE}."
        )
    return folder


def file_of(folder: Path, name: str) -> Path | None:
    """Return a file of a folder, None where there is none.

    Raises:
        RigError: it is a link, or anything else that is no plain file.
    """
    path = folder / name
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise RigError(f"{path} is {'a link' if path.is_symlink() else 'no file'}: {CURE}.")
    return path if path.exists() else None
