"""Files that are whole or not there: written beside their place, and moved into it when all went well."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole(path: Path, durable: bool = False) -> Iterator[Path]:
    """Give a path to write to, which takes the place of `path` when all went well and is removed when not.

    Args:
        path: where the file is to be.
        durable: whether it must also survive a power cut from here on: the file and its folder are synced to the disk.

    Raises:
        OSError: the disk is full, or takes no file here; what was at `path` before is still there.
    """
    partial = path.with_name(
        f"{path.name}.{secrets.token_hex(4)}.part"
    )  # a name that nobody could put a link at before
    try:
        yield partial
        if durable:
            sync(partial)
        partial.replace(path)
        if durable:
            sync(path.parent)
    finally:
        partial.unlink(missing_ok=True)


def write_whole(path: Path, text: str, durable: bool = False) -> None:
    """Write a text file, UTF-8.

    Raises:
        OSError: as for `whole`.
    """
    with whole(path, durable) as partial:
        partial.write_text(text, encoding="utf-8")


def sync(path: Path) -> None:
    """Wait until the disk has a file, or the names in a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
