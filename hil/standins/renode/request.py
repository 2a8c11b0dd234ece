"""A request to `python -m hil.standins.renode`: a board and the image to run on it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Request:
    """A board of the catalogue and the ELF file of its firmware."""

    board: str
    elf: Path

    @classmethod
    def of(cls, line: bytes) -> Request:
        """Parse a line made by `to_line`."""
        fields = json.loads(line)
        return cls(fields["board"], Path(fields["elf"]))

    def to_line(self) -> bytes:
        """Return the request as one line of JSON."""
        return json.dumps({"board": self.board, "elf": str(self.elf)}).encode() + b"\n"
