"""`hil network convert OLD NEW`: write a network file of version 1 or 2 as version 3 (docs/network.md)."""

from __future__ import annotations

import argparse
from pathlib import Path

from hil.bounded import read_file
from hil.errors import RigError
from hil.graph.file import VERSION, decode, encode
from hil.graph.old import read_old

LARGEST = 64 << 20  # bytes of a network file: the largest network has 2 MB


def converted(blob: bytes) -> bytes:
    """Return an old network file as version 3.

    Raises:
        RigError: it is no file of version 1 or 2, or holds a network that version 3 refuses.
    """
    new = encode(read_old(blob, "network"))
    decode(new)
    return new


def main(argv: list[str]) -> int:
    """Convert a network file."""
    parser = argparse.ArgumentParser(prog="hil network", description="Write a network file of version 1 or 2 as version 3.")
    parser.add_argument("action", choices=("convert",), help="what to do")
    parser.add_argument("old", type=Path, metavar="OLD", help="network file of version 1 or 2")
    parser.add_argument("new", type=Path, metavar="NEW", help="file to write; it must not exist yet")
    options = parser.parse_args(argv)
    blob = converted(read_file(options.old, LARGEST, "give a network file of version 1 or 2"))
    try:
        with options.new.open("xb") as file:
            file.write(blob)
    except OSError as error:
        raise RigError(f"{options.new} cannot be written ({error.strerror}): give the name of a file that is not there yet.") from error
    print(f"{options.new}: version {VERSION}, {len(blob):,} bytes")
    return 0
