"""Indented blocks of a page of the documentation, and commands run as a user runs them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Page:
    """The blocks of a page, or of one of its sections."""

    blocks: tuple[str, ...]

    @classmethod
    def of(cls, name: str, section: str = "") -> Page:
        """Return the blocks of docs/NAME, in the order of the page."""
        text = (ROOT / "docs" / name).read_text(encoding="utf-8")
        if section:
            text = text.split(f"\n## {section}\n")[1].split("\n## ")[0]
        found = re.findall(r"(?:(?:^    .*)?\n)+", text, re.M)
        return cls(tuple(re.sub(r"(?m)^    ", "", block).strip() + "\n" for block in found if block.strip()))

    def block(self, first: str) -> str:
        """Return the block that begins with these words."""
        (found,) = [block for block in self.blocks if block.startswith(first)]
        return found


def run(folder: Path, command: str) -> str:
    """Run a command in a folder, with the programs of this environment, and return what it printed."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for name in [name for name in environment if name.startswith("PYTEST")]:
        del environment[name]  # the session that runs this one is not its parent
    ended = subprocess.run(
        command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=1800
    )
    said = ended.stdout + ended.stderr
    assert ended.returncode == 0 and "Traceback" not in said, said
    return said
