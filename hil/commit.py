"""The commit of a run: that of its folder, followed by `+` if tracked files differ from it."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

CHANGED = "+"  # as `git describe --dirty=+` writes it
SHORT = 12  # characters of a commit in a sentence
ALL = (":/",)
# What is trained and tested; rig.toml only says what is on the bench, and every lab changes it.
TESTED = (*ALL, ":(top,exclude)rig.toml")


def commit_of_folder(folder: Path = Path(), files: Sequence[str] = TESTED) -> str | None:
    """Return the commit of a folder; None outside a checkout or without git.

    Args:
        folder: of the checkout; default: the working folder.
        files: those of it that count, as pathspecs of git.
    """
    head = _git(folder, "rev-parse", "HEAD")
    if head is None:
        return None
    same = _git(folder, "status", "--porcelain", "--untracked-files=no", "--", *files) == ""
    return head if same else head + CHANGED


def short_commit(commit: str) -> str:
    """Return the first characters of a commit, with its `+`."""
    return commit[:SHORT] + CHANGED * commit.endswith(CHANGED)


def whole_commit(commit: str | None) -> str:
    """Return the commit if it says all that was tested; empty if it is unknown or files differed from it."""
    return "" if commit is None or commit.endswith(CHANGED) else commit


def commit_range(before: str | None, after: str | None) -> str:
    """Return the range of commits for `git log`; empty if one is unknown or both are the same."""
    ends = [(commit or "").removesuffix(CHANGED) for commit in (before, after)]
    return "..".join(ends) if all(ends) and ends[0] != ends[1] else ""


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
