"""The two files of an experiment that measures costs: its figures as JSON, and its page of tables as Markdown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hil.atomic_write import write_atomic

RESULTS, PAGE = "costs.json", "costs.md"
KB = 1024


def write(out: Path, figures: Mapping[str, Any], page: str) -> None:
    """Write both files into a folder, which is made."""
    out.mkdir(parents=True, exist_ok=True)
    write_atomic(out / RESULTS, json.dumps(figures, indent=1) + "\n")
    write_atomic(out / PAGE, page)


def table_line(*entries: str) -> str:
    """Return a line of a table."""
    return "| " + " | ".join(entries) + " |"


def kilobytes(size: int | None) -> str:
    """Return a number of bytes in KB of 1024 bytes, or a dash."""
    return "–" if size is None else f"{size / KB:,.1f}"
