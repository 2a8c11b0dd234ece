"""`hil network convert FILE`: write a network file of an older version as the present one (docs/network.md)."""

from __future__ import annotations

import argparse
from pathlib import Path

from hil.bounded_read import read_file
from hil.errors import RigError
from hil.graph.file import VERSION
from hil.graph.old_versions import converted
from hil.record.atomic_write import atomic_file

LARGEST = 64 << 20  # bytes of a network file: the largest network has 2 MB


def main(argv: list[str]) -> int:
    """Convert a network file in place; one that cannot be converted stays as it is."""
    text = "Write a network file of an older version as the present one."
    parser = argparse.ArgumentParser(prog="hil network", description=text)
    parser.add_argument("action", choices=("convert",), help="what to do")
    parser.add_argument("file", type=Path, metavar="FILE", help="network file of an older version, which is replaced")
    path: Path = parser.parse_args(argv).file
    blob = converted(read_file(path, LARGEST, "give a network file of an older version"))
    try:
        with atomic_file(path) as partial:
            partial.write_bytes(blob)
    except OSError as error:
        raise RigError(
            f"{path} cannot be replaced ({error.strerror}): copy it to a folder that can be written."
        ) from error
    print(f"{path}: version {VERSION}, {len(blob):,} bytes")
    return 0
