"""Where this user's programs keep what they can make or fetch again."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """Return the rig's folder in the user's cache, by the platform's convention.

    On Linux that is in XDG_CACHE_HOME (XDG Base Directory Specification 0.8: ~/.cache where it is unset, empty or not absolute).
    """
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "trainrig"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "trainrig"
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (cache if cache.is_absolute() else Path.home() / ".cache") / "trainrig"
