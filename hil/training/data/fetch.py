"""Download and verify a full data set. Either all of its files are written or none."""

from __future__ import annotations

import contextlib
import gzip
import tempfile
from collections.abc import Callable
from pathlib import Path

from hil.errors import RigError
from hil.training.data.download_routes import Parts, describe, route
from hil.training.data.store import FOLDER_VARIABLE, PARTS, Known, file_name, read_set, verify


def fetch(known: Known, root: Path, say: Callable[[str], None] = lambda line: None) -> Path:
    """Download a set into `root`/name from the first source that works, and return that folder.

    If the folder holds a valid set, nothing is downloaded; if a file is damaged, the set is replaced. `say` gets
    lines of progress. Raises RigError if no source works, or the files cannot be written.
    """
    folder = root / known.name
    with contextlib.suppress(RigError):  # it is not there, or damaged
        read_set(known, folder)
        say(f"{known.name}: already there, verified, in {folder}")
        return folder
    parts, origin = _first_that_has_it(known, folder, say)
    try:
        _write(parts, folder)
    except OSError as error:
        raise RigError(
            f"{known.name} cannot be written to {folder} ({error.strerror or error}): "
            f"choose another folder with --to or {FOLDER_VARIABLE}."
        ) from error
    say(f"{known.name}: from {origin}, verified, in {folder}")
    return folder


def _first_that_has_it(known: Known, folder: Path, say: Callable[[str], None]) -> tuple[Parts, str]:
    reasons = []
    for source in known.sources:
        name = describe(source)
        say(f"{known.name}: trying {name}")
        try:
            parts = route(source)()
            for part in PARTS:
                verify(known, part, parts[part], name)
            return parts, name
        except RigError as error:
            reasons.append(f"{name}: {error}")
    files = ", ".join(file_name(part) for part in PARTS)
    raise RigError(
        f"{known.name} could not be fetched ({'; '.join(reasons)}): "
        f"download {files} from {known.by_hand} by hand, put them into {folder}, and run this again to verify them."
    )


def _write(parts: Parts, folder: Path) -> None:
    """Write all files to a temporary folder, then rename them, so an interruption never leaves a partial file."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as scratch:
        for part, data in parts.items():
            (Path(scratch) / file_name(part)).write_bytes(gzip.compress(data, 6, mtime=0))
        for part in parts:
            (Path(scratch) / file_name(part)).replace(folder / file_name(part))
