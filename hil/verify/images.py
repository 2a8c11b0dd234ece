"""Firmware of recorded trials and device tests: which of it is on this computer, and what compiled it."""

from __future__ import annotations

import contextlib
import hashlib
import shlex
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from hil.bounded_read import SMALL_TEXT, read_file, read_toml
from hil.errors import RigError
from hil.images import Image, image_of
from hil.images.images import LARGEST
from hil.record import TrialRecord
from hil.record.checks.recorded import RecordedRun

CURE = "give the firmware that was flashed"
ELF, RIG = "--elf", "--rig"  # options of pytest


@dataclass(frozen=True)
class Build:
    """What an ELF file says of its compiler: its version, and the flags of the first unit; empty if unknown."""

    compiler: str
    flags: str


@dataclass(frozen=True)
class Firmware:
    """Firmware that a record names: an ELF file, or the program of a board that is a command.

    Attributes:
        board: that it ran on.
        file: name or path of the file.
        sha256: of the file.
        prebuilt: whether it is one of the prebuilt images.
    """

    board: str | None
    file: str
    sha256: str
    prebuilt: bool

    @property
    def name(self) -> str:
        """Name of the file."""
        return Path(self.file).name


def firmware_of_trial(record: TrialRecord) -> Firmware | None:
    """Return the firmware of a trial; None if it flashed none."""
    if record.image_sha256 is None:
        return None
    image, sha = record.image, record.image_sha256
    if image is None:
        return Firmware(record.board, "firmware.elf", sha, prebuilt=False)
    return Firmware(record.board, image["file"], sha, image["in_manifest"])


def firmware_in(run: RecordedRun) -> dict[str, Firmware]:
    """Return the firmware of the trials of a run, and then that of its device tests, each once, by its SHA-256."""
    of_trials = [firmware_of_trial(trial.record) for trial in run.trials]
    of_tests = [
        Firmware(test.board, test.image["file"], test.image["sha256"], not test.image["own"])
        for test in run.results.get("device_tests", ())
        if test.image is not None
    ]
    found: dict[str, Firmware] = {}
    for each in (*of_trials, *of_tests):
        if each is not None:
            found.setdefault(each.sha256, each)
    return found


def image_at_hand(firmware: Firmware | None, command: str) -> Image | None:
    """Return firmware of a record if this computer has it: prebuilt, or named by the command of its run or by rig.toml.

    Args:
        firmware: None: there is none.
        command: that repeats the run; the paths after `--elf` and `--rig` are relative to the working folder.
    """
    if firmware is None:
        return None
    if firmware.prebuilt:
        try:
            image = image_of(firmware.board or "")
        except RigError:
            return None
        return image if image.sha256 == firmware.sha256 else None
    for path in (*_after(command, ELF), *_of_bench(command), Path(firmware.file)):
        try:
            found = hashlib.sha256(read_file(path, LARGEST, CURE)).hexdigest()
        except RigError:
            continue
        if found == firmware.sha256:
            return Image(path, found, own=True)
    return None


def _of_bench(command: str) -> list[Path]:
    """Return the paths of firmware in the rig.toml of a command."""
    found: list[Path] = []
    for path in _after(command, RIG) or [Path("rig.toml")]:
        with contextlib.suppress(RigError):  # it may be another file by now, or gone
            _, raw = read_toml(path, SMALL_TEXT, CURE)
            tables = raw.get("board", [])
            entries = [each.get("elf") for each in tables if isinstance(each, dict)] if isinstance(tables, list) else []
            found += [Path(each) for each in entries if isinstance(each, str)]
    return found


def _after(command: str, option: str) -> list[Path]:
    """Return the paths that follow an option in a command."""
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    joined = [word.partition("=")[2] for word in words if word.startswith(f"{option}=")]
    return [Path(word) for word in joined + [after for word, after in pairwise(words) if word == option]]


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
