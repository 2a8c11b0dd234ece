"""Names of data sets: what is a path, and where the suffixes that change a set begin (docs/data.md)."""

from __future__ import annotations

import re
from pathlib import Path

CORRUPTED = re.compile(r"(?P<whole>.+)\+(?P<corruption>[a-z-]+)-(?P<severity>\d+)", re.DOTALL)
SIZED = re.compile(r"(?P<whole>.+)@([1-9]\d{0,3})x([1-9]\d{0,3})x([136])", re.DOTALL)
TASK = re.compile(
    r"(?P<whole>.+)@(?P<ways>\d{1,3})-way-(?P<shots>[1-9]\d{0,3})-shot-(?P<split>val|test)-(?P<number>\d{1,9})",
    re.DOTALL,
)
CLASSES = re.compile(r"(?P<whole>.+)@classes-(?P<labels>\d{1,4}(-\d{1,4})+)", re.DOTALL)
PART = re.compile(r"(?P<whole>.+)@(?P<first>[1-9]\d*)(-(?P<held>[1-9]\d*))?", re.DOTALL)
SUFFIXES = (CORRUPTED, SIZED, TASK, CLASSES, PART)
IDX = "idx:"  # the user's own IDX files: idx:FOLDER
FILES = (".npz", ".csv")


def as_text(name: str | Path) -> str:
    """Return a name as text; a Path is the path of the user's own data, even without a separator."""
    return name if isinstance(name, str) else f"{name.parent}/{name.name}"


def is_own(name: str) -> bool:
    """Return whether a name is the path of the user's own data, or of something that is not there.

    It is if it has a separator or ends like a file of features; `./photos` is a folder, `photos` a name.
    """
    return not name.startswith(IDX) and ("/" in name or name.lower().endswith(FILES))


def is_there(name: str) -> bool:
    """Return whether a name is the path of own data that exist; then no part of it is a suffix."""
    try:
        return is_own(name) and Path(name).exists()
    except (OSError, ValueError):  # too long for a path, or with a NUL
        return False


def split_name(name: str) -> tuple[str, str]:
    """Return the set from which a name makes its own, and the suffixes that do, in their order."""
    base = name
    while not is_there(base) and (found := next((one for each in SUFFIXES if (one := each.fullmatch(base))), None)):
        base = found["whole"]
    return base, name[len(base) :]


def public_name(name: str | Path) -> str:
    """Return a name as a published record may have it: of a path only its last part, and the suffixes."""
    base, suffixes = split_name(as_text(name))
    start = IDX if base.startswith(IDX) else ""
    if start or is_own(base):
        base = start + (Path(base[len(start) :]).absolute().name or "data")
    return base + suffixes


def absolute_name(name: str) -> str:
    """Return a name that means the same data set in every working folder."""
    base, suffixes = split_name(name)
    start = IDX if base.startswith(IDX) else ""
    return start + str(Path(base[len(start) :]).absolute()) + suffixes if start or is_own(base) else name
