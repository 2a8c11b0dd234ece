"""Firmware images of recorded trials: which of them are on this computer, and what compiled them."""

from __future__ import annotations

import hashlib
import shlex
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from hil.bounded_read import read_file
from hil.errors import RigError
from hil.images import Image, image_of
from hil.images.images import LARGEST
from hil.record import TrialRecord

CURE = "give the firmware that was flashed"
ELF = "--elf"  # option of pytest


@dataclass(frozen=True)
class Build:
    """What an ELF file says of its compiler: its version, and the flags of the first unit; empty if unknown."""

    compiler: str
    flags: str


def image_at_hand(record: TrialRecord, command: str) -> Image | None:
    """Return the image of a trial if this computer has it: prebuilt, or named by the command of its run.

    Args:
        record: of the trial.
        command: that repeats the run; the path after `--elf` is relative to the working folder.
    """
    if record.image is None or record.image_sha256 is None:
        return None
    if record.image["in_manifest"]:
        try:
            image = image_of(record.board)
        except RigError:
            return None
        return image if image.sha256 == record.image_sha256 else None
    for path in (*_named(command), Path(record.image["file"])):
        try:
            found = hashlib.sha256(read_file(path, LARGEST, CURE)).hexdigest()
        except RigError:
            continue
        if found == record.image_sha256:
            return Image(path, found, own=True)
    return None


def _named(command: str) -> list[Path]:
    """Return the paths that follow `--elf` in a command."""
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    joined = [word.partition("=")[2] for word in words if word.startswith(f"{ELF}=")]
    return [Path(word) for word in joined + [after for word, after in pairwise(words) if word == ELF]]


def build_of(path: Path) -> Build:
    """Return what an ELF file says of its compiler (section .comment; DWARF 5, 3.1.1, DW_AT_producer)."""
    try:
        with path.open("rb") as file:
            elf = ELFFile(file)
            section = elf.get_section_by_name(".comment")
            comment = section.data().strip(b"\0").split(b"\0")[0].decode("utf-8", "replace") if section else ""
            return Build(comment, _producer(elf))
    except (ELFError, OSError, ValueError, KeyError, AttributeError):
        return Build("", "")


def _producer(elf: ELFFile) -> str:
    """Return the compiler and flags of the first unit that a C compiler made; empty without debug information."""
    if not elf.has_dwarf_info():
        return ""
    for unit in elf.get_dwarf_info().iter_CUs():
        found = unit.get_top_DIE().attributes.get("DW_AT_producer")
        if found is not None and b" C" in found.value:
            return str(found.value.decode("utf-8", "replace"))
    return ""
