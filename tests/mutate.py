"""Damage to files: of bytes, and of the fields of JSON. A generator with the same seed makes the same damage."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

INTERESTING = (
    b"\0",
    b"\xff" * 4,
    b"\0" * 8,
    b"\x7f\xff\xff\xff",
    b"PK\1\2",
    b"PK\3\4",
    b"PK\5\6",
    b"../",
    b"\n",
    b'"',
    b"{" * 50,
    b"\x1f\x8b\x08",
)
HOSTILE: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**63, 2**64, -(2**63), 10**30, 10**400, 1e308, -0.0, 1e-320, "", " ", "x", "nan", "inf", "0", "..", "../outside", "/etc", "/", ".",
    "a/b", "a\0b", "\0", "C:\\x", "~", "<script>alert(1)</script>", "'\"><img src=x onerror=alert(1)>", "{{7*7}}", "{% raw %}", "%s%n", "\ud800", "\u202e", "\x1b[2J", "x" * 5000,
    [], {}, [[]], [None], [1, "x"], {"": None}, {"x": {}}, [{}] * 3, {"value": None}, [[0] * 3] * 3,
)  # fmt: skip


def damaged_bytes(whole: bytes, rng: random.Random) -> bytes:
    """Return bytes with one to four places changed, cut, put in, taken out, doubled or moved."""
    data = bytearray(whole)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at, size = rng.randrange(len(data) + 1), rng.choice((1, 1, 2, 4, 16, 256))
        match rng.randrange(7):
            case 0:
                data[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                data[at : at + 1] = bytes([data[at] ^ 1 << rng.randrange(8)]) if at < len(data) else b""
            case 2:
                del data[at:]
            case 3:
                piece = rng.choice(INTERESTING)
                data[at : at + len(piece)] = piece
            case 4:
                data[at:at] = rng.randbytes(size)
            case 5:
                del data[at : at + size]
            case _:
                data[at:at] = data[at : at + size]
    return bytes(data)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value within a value of JSON."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def damaged_fields(whole: Any, rng: random.Random) -> Any:
    """Return a value of JSON with one or two of its fields changed to something else, taken out, doubled, exchanged or put in."""
    value = copy.deepcopy(whole)
    for _ in range(rng.choice((1, 1, 2))):
        found = list(places(value))
        if not found:
            return value
        path = rng.choice(found)
        holder = value
        for key in path[:-1]:
            holder = holder[key]
        key = path[-1]
        match rng.randrange(6):
            case 0:
                del holder[key]
            case 1:
                other = rng.choice(found)
                source = value
                for step in other:
                    source = source[step]
                holder[key] = copy.deepcopy(source)
            case 2 if isinstance(holder, list):
                holder.insert(key, copy.deepcopy(holder[key]))
            case 2:
                holder[rng.choice(("x", "", "folder", "__class__"))] = holder.pop(key)
            case _:
                holder[key] = copy.deepcopy(rng.choice(HOSTILE))
    return value
