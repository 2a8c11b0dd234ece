"""Images with defects: one copy of the firmware, changed, built, and put back as it was."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from elftools.elf.elffile import ELFFile

from .row import BOARD

FIRMWARE = Path(__file__).resolve().parents[3] / "firmware"

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
NOT_COPIED = shutil.ignore_patterns("prebuilt", "host")


class NotBuilt(Exception):
    """A defect cannot be put in, or does not compile."""


class Edit(Protocol):
    """A change of one file below firmware/."""

    @property
    def file(self) -> str:
        """The path of the file."""

    def applied_to(self, text: str) -> str | None:
        """Return the changed text; None where the text is not what the change expects."""


class Workshop:
    """Builds images in a copy of the firmware; only what depends on a changed file is compiled again.

    Args:
        folder: takes the copy.
        built: the firmware with its objects, to compile less at first; default: the checkout, with the objects of
            `make` if there are any.
        board: whose image is built.
    """

    def __init__(self, folder: Path, built: Path | None = None, board: str = BOARD) -> None:
        self._copy = folder / "firmware"
        self._target = f"build/{board}.elf"
        shutil.copytree(built or FIRMWARE, self._copy, ignore=None if built else NOT_COPIED)
        makefile = self._copy / "Makefile"
        dates = makefile.stat()
        makefile.write_text(makefile.read_text().replace("-Werror", "-w"))  # a defect may leave something unused
        os.utime(makefile, ns=(dates.st_atime_ns, dates.st_mtime_ns))  # the objects are the same
        self._make()
        self.unchanged = Path(shutil.copy(self._copy / self._target, folder / "unchanged.elf"))

    def build(self, patches: Sequence[Edit], to: Path) -> Path:
        """Build the image with these changes into the file `to`.

        Raises:
            NotBuilt: the table is not up to date.
        """
        kept = {patch.file: (self._copy / patch.file) for patch in patches}
        before = {path: (path.read_text(), path.stat()) for path in kept.values()}
        with self._objects_aside(set(kept)):
            try:
                for patch in patches:
                    self._apply(patch)
                self._make(*kept)
                to.parent.mkdir(parents=True, exist_ok=True)
                return Path(shutil.copy(self._copy / self._target, to))
            finally:
                for path, (text, stat) in before.items():
                    path.write_text(text)
                    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    def _apply(self, patch: Edit) -> None:
        path = self._copy / patch.file
        changed = patch.applied_to(path.read_text())
        if changed is None:
            raise NotBuilt(f"{patch.file} no longer has the text of {patch}: bring the defect up to date.")
        path.write_text(changed)

    @contextmanager
    def _objects_aside(self, files: set[str]) -> Iterator[None]:
        """Put the objects of all that includes these files aside for a `with` block, and back after it."""
        again = [Path(file).with_suffix(".o") for file in self._including(files) if file.endswith(".c")]
        aside = [path for each in again for path in (self._copy / "build").glob(f"*/{each}")]
        for path in aside:
            path.rename(path.with_suffix(".kept"))
        try:
            yield
        finally:
            for path in aside:
                path.with_suffix(".kept").rename(path)
            (self._copy / self._target).unlink(missing_ok=True)

    def _including(self, files: set[str]) -> set[str]:
        """Return these files and all that include them, directly or through headers."""
        sources = {
            path.relative_to(self._copy).as_posix(): INCLUDE.findall(path.read_text())
            for path in self._copy.glob("**/*.[ch]")
        }
        found = set(files)
        while True:
            more = {file for file, read in sources.items() if file not in found and _names_one_of(read, found)}
            if not more:
                return found
            found |= more

    def _make(self, *changed: str) -> None:
        # The objects of changed files are gone: no other object is compiled for the date of one.
        old = [part for file in changed for part in ("-o", file)]
        done = subprocess.run(
            ["make", "-C", self._copy, f"-j{os.cpu_count() or 1}", *old, self._target],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise NotBuilt(done.stdout + done.stderr)


def _names_one_of(includes: list[str], files: set[str]) -> bool:
    """Whether an include names one of these files: by its path, or by its last part where it is in a port's folder."""
    names = {file.rsplit("/", 1)[-1] for file in files if file.startswith("ports/")}
    return any(include in files or include in names for include in includes)


def loaded(image: Path) -> list[tuple[int, bytes]]:
    """Return what an image writes into the flash: an address and its bytes, for each segment."""
    with image.open("rb") as file:
        return [(each["p_paddr"], each.data()) for each in ELFFile(file).iter_segments("PT_LOAD")]
