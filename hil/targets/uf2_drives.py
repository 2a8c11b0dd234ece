"""Find mounted UF2 drives, and chips in their USB boot ROM (Linux)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hil.bounded_read import read_at_most

NOTE, LONGEST_NOTE = "INFO_UF2.TXT", 1 << 12  # UF2, "Files exposed by bootloaders"; size limit in bytes
MOUNTS, USB = Path("/proc/mounts"), Path("/sys/bus/usb/devices")


@dataclass(frozen=True)
class Drive:
    """A mounted UF2 drive: its mount point, and board id and model from its INFO_UF2.TXT."""

    place: Path
    board_id: str
    model: str


def drives(mounts: Path = MOUNTS) -> list[Drive]:
    """Return the mounted drives that belong to UF2 boot loaders."""
    return [_drive(place) for place in _mount_points(mounts) if (place / NOTE).is_file()]


def _mount_points(mounts: Path) -> list[Path]:
    if not mounts.is_file():
        return []
    fields = [line.split() for line in mounts.read_text(errors="replace").splitlines()]
    return [Path(place.encode().decode("unicode_escape")) for _, place, kind, *_ in fields if kind in ("vfat", "msdos")]


def _drive(place: Path) -> Drive:
    with (place / NOTE).open("rb") as note:
        lines = read_at_most(note, LONGEST_NOTE).decode(errors="replace").splitlines()
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    return Drive(place, fields.get("Board-ID", "").strip(), fields.get("Model", "UF2 drive").strip())


def waiting(ids: tuple[str, str], usb: Path = USB) -> int:
    """Return the number of USB devices with this vendor and product, whether their drives are mounted or not."""
    return sum((line_of(one / "idVendor"), line_of(one / "idProduct")) == ids for one in usb.glob("*"))


def line_of(path: Path) -> str:
    """Return the content of a file of one line; empty if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
