"""Write files atomically: into a temporary file in the same folder, which then replaces the target."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_file(path: Path, durable: bool = False) -> Iterator[Path]:
    """Yield a temporary path. On success it replaces `path`; after an exception it is removed.

    Args:
        path: final path of the file.
        durable: sync the file and its folder to the disk, so that the file survives a power cut.

    Raises:
        OSError: the disk is full or not writable, or `path` is a folder; a file that was at `path` before is unchanged.
    """
    # The random name prevents that someone places a link there first.
    if not path.name or (path.is_dir() and not path.is_symlink()):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield partial
        if durable:
            _sync(partial)
        partial.replace(path)
        if durable:
            _sync(path.parent)
    finally:
        partial.unlink(missing_ok=True)


def write_atomic(path: Path, text: str, durable: bool = False) -> None:
    """Write a UTF-8 text file with `atomic_file`."""
    with atomic_file(path, durable) as partial:
        partial.write_text(text, encoding="utf-8")


def write_durable(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files atomically, each by itself, and sync all of them, and then their folder, to the disk."""
    for name, content in files.items():
        with atomic_file(folder / name) as partial:
            partial.write_bytes(content)
            _sync(partial)
    _sync(folder)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
