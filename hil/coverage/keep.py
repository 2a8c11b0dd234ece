"""Keep what shows the coverage of a run in its folder: the lines of its images, and the text of their source files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hil.coverage.source_file import texts_of
from hil.images.images import image_of
from hil.images.line_map import line_map
from hil.record import TrialRecord
from hil.record.coverage import EXECUTED, write_lines, write_sources
from hil.record.safe_paths import safe_file, safe_folder


def keep_lines(run: Path, trials: Iterable[TrialRecord], elf: Path | None) -> None:
    """Write the lines of every image of which a trial recorded coverage, and their sources.

    Args:
        run: folder of the run.
        trials: of the run.
        elf: the user's own firmware, which the trials ran instead of the prebuilt image.

    Raises:
        OSError: the disk is full.
        RigError: an image cannot be read any more.
    """
    kept: set[str] = set()
    names: set[str] = set()
    for trial in trials:
        if trial.image_sha256 in kept or safe_file(safe_folder(run, trial.folder), EXECUTED) is None:
            continue
        image = image_of(trial.board, elf)
        if image.sha256 == trial.image_sha256:
            lines = line_map(image)
            write_lines(run, lines, image.sha256)
            kept.add(image.sha256)
            names |= set(lines.files)
    if kept:
        write_sources(run, texts_of(names))
