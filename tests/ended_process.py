"""Whether a process has ended."""

from __future__ import annotations

import time
from pathlib import Path


def ended(pid: int) -> bool:
    """Return whether a process is gone or a zombie, within seconds of a busy computer."""
    for _ in range(600):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False
