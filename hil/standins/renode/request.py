"""A request to `python -m hil.standins.renode`: a board and the image to run on it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from hil.images import Image


@dataclass(frozen=True)
class RenodeRequest:
    """A board of the catalogue, the ELF file of its firmware, and (address, file) of what lies beside it in flash."""

    board: str
    elf: Path
    cargo: tuple[tuple[int, Path], ...] = ()

    @classmethod
    def for_image(cls, board: str, image: Image, folder: Path) -> RenodeRequest:
        """Return the request for an image; its cargo is written to files in `folder`."""
        cargo = tuple((address, folder / f"cargo-{address:08x}.bin") for address, _ in image.cargo)
        for (_, file), (_, data) in zip(cargo, image.cargo, strict=True):
            file.write_bytes(data)
        return cls(board, image.path, cargo)

    @classmethod
    def of(cls, line: bytes) -> RenodeRequest:
        """Parse a line made by `to_line`."""
        fields = json.loads(line)
        return cls(fields["board"], Path(fields["elf"]), tuple((at, Path(file)) for at, file in fields["cargo"]))

    def to_line(self) -> bytes:
        """Return the request as one line of JSON."""
        cargo = [(address, str(file)) for address, file in self.cargo]
        return json.dumps({"board": self.board, "elf": str(self.elf), "cargo": cargo}).encode() + b"\n"
