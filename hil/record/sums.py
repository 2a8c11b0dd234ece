"""SHA256SUMS in the folder of a run: the SHA-256 of its files, in the format of `sha256sum`.

A session writes it at its end, with the files of the record. `hil sign` writes it again, with the pages too, and signs
it. The first line is a comment with the run's identity, so that the file belongs to one run; `sha256sum -c SHA256SUMS`
in the folder of the run ignores it and checks all other lines.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hil.atomic_write import write_atomic
from hil.bounded_read import MB, read_text
from hil.errors import RigError
from hil.record.safe_paths import safe_file

SUMS = "SHA256SUMS"
SIGNATURE = f"{SUMS}.sig"
LARGEST = 16 * MB  # of SHA256SUMS: about 100,000 files
CURE = "sign the run again, or take it from its source again"
REFUSED_REQUESTS = "refused_requests.jsonl"  # of a session that goes on, which removes it when its process ends
PAGES, LIBRARY = ".html", "plotly.js"  # rendered from the record: `hil report` writes them again
HEAD = re.compile(r"# trainrig run (\S+) uid (\S+)")
LINE = re.compile(r"([0-9a-f]{64})  (\S.*)")
UNLISTABLE = re.compile(r"[\x00-\x1f\x7f\\\ufffd]")  # sha256sum escapes names with these, and nothing in a run has them


@dataclass(frozen=True)
class FileSums:
    """The content of SHA256SUMS: id and uid of the run (`-` for a run without), and SHA-256 by path."""

    run: str
    uid: str
    digests: Mapping[str, str]

    @property
    def text(self) -> str:
        """The file: sorted by the bytes of the paths, so that equal files give equal bytes."""
        lines = [f"{self.digests[path]}  {path}" for path in sorted(self.digests, key=str.encode)]
        return "\n".join([f"# trainrig run {self.run} uid {self.uid}", *lines, ""])


def is_page(path: str) -> bool:
    """Return whether a file of a run is a page or the library of the pages."""
    return path.endswith(PAGES) or path.rpartition("/")[2] == LIBRARY


def files_of(folder: Path, pages: bool) -> Iterator[tuple[str, Path]]:
    """Yield path in the run and place of every regular file in its folder, except SHA256SUMS and its signature.

    Without `pages`, files that are being written (`.part`) are left out too.
    """
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            file = Path(place, name)
            path = os.fsencode(file.relative_to(folder).as_posix()).decode("utf-8", "replace")
            passing = (name.endswith(".part") and not pages) or path == REFUSED_REQUESTS
            if file.is_symlink() or not file.is_file() or path in (SUMS, SIGNATURE) or passing:
                continue
            if pages or not is_page(path):
                yield path, file


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(MB):
            found.update(piece)
    return found.hexdigest()


def sums_of(
    folder: Path, facts: Mapping[str, Any], pages: bool, pending: Mapping[str, bytes] | None = None
) -> FileSums:
    """Return the sums of the files of a run.

    Args:
        folder: of the run.
        facts: `run` of results.json.
        pages: whether the pages are among them.
        pending: content of files that are about to be written, by path.

    Raises:
        RigError: a name of a file cannot stand in SHA256SUMS.
    """
    waiting = pending or {}
    digests = {path: sha256_of(file) for path, file in files_of(folder, pages) if path not in waiting}
    digests |= {path: hashlib.sha256(content).hexdigest() for path, content in waiting.items()}
    for path in digests:
        if UNLISTABLE.search(path):
            raise RigError(f"{folder} has a file {path[:80]!a}, which SHA256SUMS cannot list: rename it.")
    return FileSums(str(facts["id"]), str(facts.get("uid", "-")), digests)


def write_sums(folder: Path, sums: FileSums) -> None:
    """Write SHA256SUMS into the folder of a run.

    Raises:
        OSError: the disk is full.
    """
    write_atomic(folder / SUMS, sums.text)


def read_sums(folder: Path) -> FileSums | None:
    """Return the content of SHA256SUMS in the folder of a run; None if there is none.

    Raises:
        RigError: the file is damaged.
    """
    path = safe_file(folder, SUMS)
    if path is None:
        return None
    head, *lines = read_text(path, LARGEST, CURE).split("\n")
    of_run = HEAD.fullmatch(head)
    if of_run is None or lines[-1:] != [""]:
        raise RigError(f"{path} is damaged (its first line names no run, or its last line is cut): {CURE}.")
    digests: dict[str, str] = {}
    for number, line in enumerate(lines[:-1], start=2):
        found = LINE.fullmatch(line)
        if found is None or found[2] in digests:
            raise RigError(f"{path} is damaged (line {number} is no SHA-256 with a path, or is there twice): {CURE}.")
        digests[found[2]] = found[1]
    return FileSums(of_run[1], of_run[2], digests)
