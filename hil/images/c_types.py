"""Types of C as the debug information of an image has them, and their dtypes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from hil.errors import RigError

POINTER = np.dtype("<u4")  # of a 32-bit core (AAPCS32, 5.1)
NUMBERS = {  # of a 32-bit core (AAPCS32, 5.1), for casts to types that the image does not use
    "char": "u1", "signed char": "i1", "unsigned char": "u1", "short": "<i2", "unsigned short": "<u2", "int": "<i4",
    "unsigned": "<u4", "long": "<i4", "unsigned long": "<u4", "long long": "<i8", "unsigned long long": "<u8",
    "float": "<f4", "double": "<f8", "_Bool": "?", "bool": "?", "int8_t": "i1", "uint8_t": "u1", "int16_t": "<i2",
    "uint16_t": "<u2", "int32_t": "<i4", "uint32_t": "<u4", "int64_t": "<i8", "uint64_t": "<u8",
}  # fmt: skip


@dataclass(frozen=True)
class Number:
    """A number, an enumeration or a bool."""

    name: str
    dtype: np.dtype[Any]


@dataclass(frozen=True)
class Pointer:
    """A pointer; `target` gives the type of what it points to."""

    target: Callable[[], CType]

    @property
    def name(self) -> str:
        """The type as C writes it."""
        inner = self.target().name
        return f"{inner}*" if inner.endswith("*") else f"{inner} *"


@dataclass(frozen=True)
class CppReference:
    """A reference of C++; `target` gives the type of what it stands for."""

    target: Callable[[], CType]

    @property
    def name(self) -> str:
        """The type as C++ writes it."""
        return f"{self.target().name} &"


@dataclass(frozen=True)
class Array:
    """An array of one dimension; `count` is None if it is not known."""

    element: CType
    count: int | None

    @property
    def name(self) -> str:
        """The type as C writes it."""
        base: CType = self
        while isinstance(base, Array):
            base = base.element
        return base.name + "".join("[]" if count is None else f"[{count}]" for count in _counts(self))


@dataclass(frozen=True)
class Member:
    """A member of a structure: offset in bytes; `bits` if it is a bit-field."""

    name: str
    offset: int
    type: Callable[[], CType]
    bits: bool = False


@dataclass(frozen=True)
class Struct:
    """A structure or union; members of unnamed ones within it are its own."""

    name: str
    size: int
    members: Callable[[], dict[str, Member]]


@dataclass(frozen=True)
class Opaque:
    """What has no value that could be read: void, a function, or an object without debug information.

    Attributes:
        size: of the object in bytes; None if it is not known.
    """

    name: str
    size: int | None = None


CType: TypeAlias = "Number | Pointer | CppReference | Array | Struct | Opaque"


def number(words: str) -> Number | None:
    """Return a basic type of C by its words in any order, or one of <stdint.h>; None if it is none."""
    dtype = NUMBERS.get(_canonical(words))
    return Number(words, np.dtype(dtype)) if dtype is not None else None


def _canonical(words: str) -> str:
    """Return the words of a basic type in the form of `NUMBERS`: `long unsigned int` is `unsigned long`."""
    parts = words.split()
    if len(parts) > 1 or parts == ["signed"]:
        parts = [part for part in parts if part != "int" and (part != "signed" or "char" in parts)] or ["int"]
    return " ".join(sorted(parts, key=["signed", "unsigned", "short", "long"].index) if _is_basic(parts) else parts)


def _is_basic(parts: list[str]) -> bool:
    return all(part in ("signed", "unsigned", "short", "long") for part in parts)


def size_of(kind: CType) -> int | None:
    """Return the size of a type in bytes, None if it is not known."""
    if isinstance(kind, Array):
        element = size_of(kind.element)
        return None if element is None or kind.count is None else element * kind.count
    if isinstance(kind, Number):
        return kind.dtype.itemsize
    return POINTER.itemsize if isinstance(kind, Pointer | CppReference) else kind.size


def dtype_of(kind: CType) -> np.dtype[Any]:
    """Return the dtype of a type: of a structure, one with its members; of an array, one with its shape.

    A pointer or reference is its address. Bit-fields are not among the members, nor are those of a virtual base.

    Raises:
        RigError: it has no value, or an array whose length is not known.
    """
    if isinstance(kind, Number):
        return kind.dtype
    if isinstance(kind, Pointer | CppReference):
        return POINTER
    if isinstance(kind, Struct):
        members = [each for each in kind.members().values() if not each.bits and not _has_no_length(each.type())]
        return np.dtype({
            "names": [each.name for each in members], "formats": [dtype_of(each.type()) for each in members],
            "offsets": [each.offset for each in members], "itemsize": kind.size,
        })  # fmt: skip
    if isinstance(kind, Array):
        if kind.count is None:
            raise RigError(f"the length of {kind.name} is not known: read an element, or give dtype and shape.")
        return np.dtype((dtype_of(kind.element), (kind.count,)))
    raise RigError(f"{kind.name} has no value: give dtype and shape.")


def bytes_of_members(kind: np.dtype[Any]) -> np.ndarray:
    """Return which bytes of a dtype are those of a value, bool[itemsize]; others are padding or not in the dtype."""
    if kind.subdtype is not None:
        element, shape = kind.subdtype
        return np.tile(bytes_of_members(element), math.prod(shape))
    found = np.full(kind.itemsize, kind.fields is None)
    for member, offset, *_ in (kind.fields or {}).values():
        found[offset : offset + member.itemsize] |= bytes_of_members(member)
    return found


def _has_no_length(kind: CType) -> bool:
    return isinstance(kind, Array) and kind.count is None


def _counts(kind: CType) -> Iterator[int | None]:
    while isinstance(kind, Array):
        yield kind.count
        kind = kind.element
