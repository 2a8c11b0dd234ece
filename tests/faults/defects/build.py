"""Images with defects: one copy of the firmware, changed, built, and put back as it was."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from .row import BOARD, Patch

FIRMWARE = Path(__file__).resolve().parents[3] / "firmware"

SOURCES_ALONE = shutil.ignore_patterns("build", "prebuilt")


class NotBuilt(Exception):
    """A defect cannot be put in, or does not compile."""


class Workshop:
    """Builds images in a copy of the firmware; where source files alone are changed, nothing else is compiled again.

    Args:
        folder: takes the copy.
        built: the firmware with its objects, to compile less at first; default: the sources alone.
    """

    def __init__(self, folder: Path, built: Path | None = None) -> None:
        self._copy = folder / "firmware"
        shutil.copytree(built or FIRMWARE, self._copy, ignore=None if built else SOURCES_ALONE)
        makefile = self._copy / "Makefile"
        dates = makefile.stat()
        makefile.write_text(makefile.read_text().replace("-Werror", "-w"))  # a defect may leave something unused
        os.utime(makefile, ns=(dates.st_atime_ns, dates.st_mtime_ns))  # the objects are the same
        self._make()

    @property
    def _image(self) -> Path:
        return self._copy / "build" / f"{BOARD}.elf"

    def build(self, patches: Sequence[Patch], to: Path) -> Path:
        """Build the image with these changes into the file `to`.

        Raises:
            NotBuilt: the table is not up to date.
        """
        kept = {patch.file: (self._copy / patch.file) for patch in patches}
        before = {path: (path.read_text(), path.stat()) for path in kept.values()}
        try:
            for patch in patches:
                self._apply(patch)
            self._make(*kept)
            to.parent.mkdir(parents=True, exist_ok=True)
            return Path(shutil.copy(self._image, to))
        finally:
            for path, (text, stat) in before.items():
                path.write_text(text)
                os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
            self._forget(*kept)

    def _apply(self, patch: Patch) -> None:
        path = self._copy / patch.file
        changed = patch.applied_to(path.read_text())
        if changed is None:
            raise NotBuilt(f"{patch.file} no longer has the text {patch.old!r} once: bring the defect up to date.")
        path.write_text(changed)

    def _forget(self, *files: str) -> None:
        """Let what was compiled of changed files be compiled again; of a header, everything."""
        built = self._copy / "build"
        if any(not file.endswith(".c") for file in files):
            shutil.rmtree(built, ignore_errors=True)
        for file in files:
            for built_once in built.glob(f"*/{Path(file).with_suffix('.o')}"):
                built_once.unlink()

    def _make(self, *changed: str) -> None:
        self._forget(*changed)
        old = [
            part for file in changed for part in ("-o", file)
        ]  # its own object is gone: no other is compiled for its date
        done = subprocess.run(
            ["make", "-C", self._copy, f"-j{os.cpu_count() or 1}", *old, f"build/{BOARD}.elf"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise NotBuilt(done.stdout + done.stderr)
