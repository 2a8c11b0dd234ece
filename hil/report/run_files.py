"""The files of a run that its pages link to, and the ends of a trial's logs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

LIBRARY = "plotly.js"
WORDS = {
    "results.json": "every trial, every figure",
    "since_last_good.json": "what changed since the last good night",
    "results.csv": "a row a trial",
    "SHA256SUMS": "SHA-256 of the files of the run",
    "SHA256SUMS.sig": "its signature",
    "junit.xml": "the verdicts for CI",
    "trial.json": "the record, with units",
    "steps.parquet": "every step",
    "power.parquet": "every reading of the meter",
    "latency.parquet": "every autonomous step",
    "coverage.npz": "the code that the board executed",
    "sources.npz": "source files, for the coverage",
    "soak.json": "resources of the processes between the trials",
    "device_test.json": "the record",
    "serial.log": "all that came and went on the serial port",
    "tensors.npz": "tensors of the device by step",
    "bench.log": "output of the stand-in",
}
TAIL_LINES, TAIL_BYTES, TAIL_WIDTH = 16, 1 << 16, 400


@dataclass(frozen=True)
class File:
    """A file of a run: its path relative to the page, its size in bytes, and its content in words."""

    path: str
    size: int
    what: str


@dataclass(frozen=True)
class Tail:
    """The last lines of a log; `complete` if there are no others."""

    path: str
    lines: list[str]
    complete: bool


def files_in(folder: Path, deep: bool) -> list[File]:
    """Return the files of a folder, except its pages; with `deep` also those in subfolders."""
    found = folder.rglob("*") if deep else folder.glob("*")
    others = (path for path in found if path.suffix not in (".part", ".html") and path.name != LIBRARY)
    paths = sorted(path for path in others if is_own(path, folder))
    return [File(_name(path, folder), path.stat().st_size, _what(path)) for path in paths]


def is_own(path: Path, folder: Path) -> bool:
    """Return whether a path is a regular file and not reached through a link, which might lead to a private file."""
    between = [path, *list(path.parents)[: len(path.relative_to(folder).parts) - 1]]
    return path.is_file() and not any(each.is_symlink() for each in between)


def _name(path: Path, folder: Path) -> str:
    """Return the path relative to the folder; bytes that are not UTF-8 are replaced."""
    return os.fsencode(path.relative_to(folder).as_posix()).decode("utf-8", "replace")


def _what(path: Path) -> str:
    return WORDS.get(path.name, "") if path.parent.name != "log" else f"log of the stage {path.stem}"


def tails(folder: Path, stage: str) -> list[Tail]:
    """Return the ends of the logs of a trial's stage and of its stand-in; without a stage, that with the newest log."""
    own = [path for path in (folder / "log").glob("*.log") if is_own(path, folder)]
    logs = sorted(own, key=lambda path: (path.stem == stage, path.stat().st_mtime_ns, path.name))
    found = [tail_of(path, folder) for path in (*logs[-1:], folder / "bench.log") if is_own(path, folder)]
    return [tail for tail in found if tail.lines]


def tail_of(path: Path, folder: Path) -> Tail:
    """Return the end of a log of any length; its path is relative to the folder."""
    size = path.stat().st_size
    with path.open("rb") as log:
        log.seek(max(0, size - TAIL_BYTES))
        lines = log.read().decode("utf-8", "replace").splitlines()
    cut = [line if len(line) <= TAIL_WIDTH else f"{line[:TAIL_WIDTH]} …" for line in lines[-TAIL_LINES:]]
    return Tail(_name(path, folder), cut, size <= TAIL_BYTES and len(lines) <= TAIL_LINES)
