"""Read files, archives and server answers up to a size limit.

An oversized input, such as a decompression bomb, ends in an error message and does not exhaust memory. For a stream
that decompresses while it is read (gzip, a member of a zip file, a package in a pipe), the limit is on the decompressed
bytes, and no more than that is decompressed.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from hil.errors import RigError, message_of, shown

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from _typeshed import SupportsRead

MB = 1 << 20
SMALL_TEXT = 1 * MB  # limit for a file written by hand: rig.toml, a specification


def take(stream: SupportsRead[bytes], most: int, name: str, cure: str) -> bytes:
    """Return all bytes of a stream; `name` and `cure` (how to correct an error) are for messages.

    Raises:
        RigError: the stream has more than `most` bytes.
        OSError, EOFError, zlib.error: raised by the stream.
    """
    data = read_at_most(stream, most + 1)
    if len(data) > most:
        size = f"{most // MB} MB" if most >= MB and most % MB == 0 else f"{most:,} bytes"
        raise RigError(f"{name} has more than {size}, the largest size that is read: {cure}.")
    return data


def read_at_most(stream: SupportsRead[bytes], count: int) -> bytes:
    """Return the next `count` bytes of a stream, fewer if it ends. Reads pieces of 1 MB: a large `count` is cheap."""
    pieces = []
    while count and (piece := stream.read(min(MB, count))):
        count -= len(piece)
        pieces.append(piece)
    return b"".join(pieces)


def read_file(path: Path, most: int, cure: str) -> bytes:
    """Return the bytes of a regular file (a device or a pipe may never end); `cure` is for messages.

    Raises:
        RigError: the file is missing, not a regular file, unreadable, or has more than `most` bytes.
    """
    try:
        # Non-blocking: opening a pipe must not wait for its writer.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise RigError(f"{path} cannot be read (it is not a regular file): {cure}.")
            with open(descriptor, "rb", buffering=0, closefd=False) as file:
                return take(file, most, str(path), cure)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise RigError(
            f"{_shown(path)} cannot be read ({getattr(error, 'strerror', None) or message_of(error)}): {cure}."
        ) from error


def read_text(path: Path, most: int, cure: str) -> str:
    """Return the text of a file, as `read_file`. Raises RigError also if the file is not UTF-8."""
    return _utf8(read_file(path, most, cure), str(path), cure)


def read_json(path: Path, most: int, cure: str, infinite: bool = False) -> Any:
    """Return the content of a JSON file, as `read_file`.

    With `infinite`, accept NaN and infinities, which Python writes although JSON does not have them. Raises RigError
    also if the file is not JSON, is nested too deeply, or has an object with a name twice: readers differ in which of
    the two counts (RFC 8259, section 4).
    """
    return parse_json(read_file(path, most, cure), str(path), cure, infinite)


def parse_json(data: bytes, name: str, cure: str, infinite: bool = False) -> Any:
    """Parse JSON text, as `read_json` does."""
    text = _utf8(data, name, cure)
    try:
        if infinite:
            return json.loads(text, object_pairs_hook=_each_once)
        return json.loads(text, object_pairs_hook=_each_once, parse_constant=_no_number, parse_float=_finite)
    except RecursionError:
        raise RigError(f"{name} is damaged (it is nested too deeply): {cure}.") from None
    except ValueError as error:
        raise RigError(f"{name} is damaged ({message_of(error)}): {cure}.") from error


def read_toml(path: Path, most: int, cure: str) -> tuple[str, dict[str, Any]]:
    """Return the text of a TOML file and its content, as `read_file`. Raises RigError also if it is not TOML."""
    text = read_text(path, most, cure)
    try:
        return text, tomllib.loads(text)
    except RecursionError:
        raise RigError(f"{path.name}: it is nested too deeply: {cure}.") from None
    except tomllib.TOMLDecodeError as error:
        raise RigError(f"{path.name}: {message_of(error)}: {cure}.") from error


def packaged_toml(path: Path) -> dict[str, Any]:
    """Return the contents of a TOML file of this package. Raises TOMLDecodeError if it is not TOML."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _utf8(data: bytes, name: str, cure: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RigError(f"{name} is damaged (byte {error.start} is not UTF-8): {cure}.") from error


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"an object in it has the name {shown(twice)} twice")
    return found


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"it holds {word}, which is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        _no_number(text[:20])
    return value


def _shown(path: Path) -> str:
    """Return the path for a message, with unprintable characters (such as NUL) escaped."""
    text = str(path)
    return text if text.isprintable() else repr(text)
