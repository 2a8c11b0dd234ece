"""The user's cache folder, for files that can be made or downloaded again."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """Return the rig's folder in the user's cache folder of this platform (XDG Base Directory Specification 0.8)."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "trainrig"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "trainrig"
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (cache if cache.is_absolute() else Path.home() / ".cache") / "trainrig"
