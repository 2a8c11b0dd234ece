"""Safe paths within a run's folder. A record may come from anyone: no name and no link in it may lead outside."""

from __future__ import annotations

import re
from pathlib import Path

from hil.errors import RigError

PLAIN_NAME = re.compile(r"[A-Za-z0-9_@+-][A-Za-z0-9._@+-]*")  # file and folder names that the rig itself makes
LONGEST = 200
RERUN = "run the trials again"
DISTRUST = "do not trust this record, or run the trials again"


def check_name(name: str, what: str) -> str:
    """Return `name` if it is the plain name of a file or folder; `what` describes it in the message.

    Raises:
        RigError: it is a path, too long, or has other characters.
    """
    if not PLAIN_NAME.fullmatch(name) or len(name) > LONGEST:
        shown = ascii(name) if len(name) <= 60 else f"{name[:60]!a}..."
        raise RigError(f"{what} is {shown}, which is no plain name: {DISTRUST}.")
    return name


def safe_folder(run: Path, name: str) -> Path:
    """Return the folder of a trial in the folder of its run. It may be missing, if the disk was full.

    Raises:
        RigError: `name` is no plain name, or the path is a link or a file.
    """
    folder = run / check_name(name, f"{run}: the folder of a trial")
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        kind = "a link" if folder.is_symlink() else "not a folder"
        raise RigError(f"{folder} is {kind}, but should be the folder of a trial: {DISTRUST}.")
    return folder


def safe_file(folder: Path, name: str) -> Path | None:
    """Return the path of a regular file, None if there is none.

    Raises:
        RigError: the path is a link, a folder or a special file.
    """
    path = folder / name
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise RigError(f"{path} is {'a link' if path.is_symlink() else 'not a regular file'}: {DISTRUST}.")
    return path if path.exists() else None
