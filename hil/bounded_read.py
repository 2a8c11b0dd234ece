"""Whatever comes from outside is read up to a cap: files, what a packed file unpacks to, answers of servers.

A bomb then ends at the cap, in a sentence, and not in the memory of this computer. Where a stream unpacks as it is read (gzip, a member of a zip file,
a package in a pipe), the cap is that of the unpacked bytes, and no more than that is ever unpacked.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any, NoReturn, Protocol

from hil.errors import RigError, said_by

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PIECE = 1 << 20
MB = 1 << 20
SMALL_TEXT = 1 * MB  # a file that people write: rig.toml, a specification


class Readable(Protocol):
    """What bytes are read from: at most `size` of them; fewer are no end, none is one."""

    def read(self, size: int, /) -> bytes:
        """Return some bytes, none at the end."""
        ...


def take(stream: Readable, most: int, name: str, cure: str) -> bytes:
    """Return everything that a stream has.

    Args:
        stream: as for `up_to`.
        most: bytes that it may have.
        name: of what is read, for a sentence.
        cure: what to do about it, for a sentence.

    Raises:
        RigError: it has more.
        OSError, EOFError, zlib.error: whatever the stream raises.
    """
    data = up_to(stream, most + 1)
    if len(data) > most:
        raise RigError(f"{name} has more than {_size(most)}, the most that is read of it: {cure}.")
    return data


def up_to(stream: Readable, count: int) -> bytes:
    """Return the next `count` bytes of a stream, fewer only where it ends before; it is read in pieces of 1 MB, so that a large `count` costs nothing.

    Raises:
        OSError, EOFError, zlib.error: whatever the stream raises.
    """
    pieces = []
    while count and (piece := stream.read(min(PIECE, count))):
        count -= len(piece)
        pieces.append(piece)
    return b"".join(pieces)


def read_file(path: Path, most: int, cure: str) -> bytes:
    """Return the bytes of a file.

    Args:
        path: of a regular file: a device or a pipe could go on for ever.
        most: bytes that it may have.
        cure: what to do about it, for a sentence.

    Raises:
        RigError: it is missing, no regular file, unreadable or too long.
    """
    try:
        descriptor = os.open(
            path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
        )  # to open a pipe must not wait for who writes to it
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise RigError(f"{path} cannot be read (it is no regular file): {cure}.")
            with open(descriptor, "rb", buffering=0, closefd=False) as file:
                return take(file, most, str(path), cure)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise RigError(
            f"{_shown(path)} cannot be read ({getattr(error, 'strerror', None) or said_by(error)}): {cure}."
        ) from error


def read_text(path: Path, most: int, cure: str) -> str:
    """Return the text of a UTF-8 file; as for `read_file`.

    Raises:
        RigError: also where it is not UTF-8.
    """
    return _utf8(read_file(path, most, cure), str(path), cure)


def read_json(path: Path, most: int, cure: str, infinite: bool = False) -> Any:
    """Return what a JSON file holds.

    Args:
        path, most, cure: as for `read_file`.
        infinite: whether it may hold NaN and infinities, which JSON has not and Python writes.

    Raises:
        RigError: as for `read_file`; it is no JSON, or too deeply nested.
    """
    return parse_json(read_file(path, most, cure), str(path), cure, infinite)


def parse_json(data: bytes, name: str, cure: str, infinite: bool = False) -> Any:
    """Return what JSON text says; as for `read_json`. Of an object that gives a key twice the last counts."""
    text = _utf8(data, name, cure)
    try:
        return json.loads(text) if infinite else json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except RecursionError:
        raise RigError(f"{name} is damaged (it is nested too deeply): {cure}.") from None
    except ValueError as error:
        raise RigError(f"{name} is damaged ({said_by(error)}): {cure}.") from error


def read_toml(path: Path, most: int, cure: str) -> tuple[str, dict[str, Any]]:
    """Return the text of a TOML file and what it says; as for `read_file`.

    Raises:
        RigError: also where it is no TOML.
    """
    text = read_text(path, most, cure)
    try:
        return text, tomllib.loads(text)
    except RecursionError:
        raise RigError(f"{path.name}: it is nested too deeply: {cure}.") from None
    except tomllib.TOMLDecodeError as error:
        raise RigError(f"{path.name}: {said_by(error)}: {cure}.") from error


def packaged_toml(path: Path) -> dict[str, Any]:
    """Return the contents of a TOML file of this package.

    Raises:
        TOMLDecodeError: it is not TOML.
    """
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _utf8(data: bytes, name: str, cure: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RigError(f"{name} is damaged (byte {error.start} is not UTF-8): {cure}.") from error


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"it holds {word}, which is no number of JSON")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        _no_number(text[:20])
    return value


def _size(most: int) -> str:
    return f"{most // MB} MB" if most >= MB and most % MB == 0 else f"{most:,} bytes"


def _shown(path: Path) -> str:
    """A path with a NUL in it is shown as Python writes it."""
    text = str(path)
    return text if text.isprintable() else repr(text)
