"""Environment variables of the Renode process."""

from __future__ import annotations

import os
from pathlib import Path


def private_environment(folder: Path) -> dict[str, str]:
    """Return an environment with which Renode keeps its configuration and temporary files in `folder`."""
    config, scratch = folder / "config", folder / "tmp"
    config.mkdir()
    scratch.mkdir()
    return os.environ | {"XDG_CONFIG_HOME": str(config), "TMPDIR": str(scratch)}
