"""Parts of a network file: a class declares its fields once, with the types that they have in the file."""

from __future__ import annotations

import re
import struct
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any, ClassVar, TypeVar, get_type_hints

import numpy as np

F32 = Annotated[float, "f"]
I32 = Annotated[int, "i"]
U32 = Annotated[int, "I"]
U16 = Annotated[int, "H"]
I8 = Annotated[int, "b"]
U8 = Annotated[int, "B"]
NO_BYTES = bytes(3)
NoBytes = Annotated[bytes, "3s"]  # bytes that must be zero
P = TypeVar("P", bound="Part")


@dataclass(frozen=True)
class Part:
    """Numbers that lie one after the other, little-endian, then arrays by output channel, each padded to 4 bytes.

    A subclass is a frozen dataclass. Its fields are annotated with codes of `struct` (`Annotated[int, "b"]`; more than
    one number: `Annotated[tuple[int, int, int], "3i"]`), then with types of NumPy (`Annotated[np.ndarray, "<i4"]`).
    """

    _layout: ClassVar[struct.Struct] = struct.Struct("<")
    _counts: ClassVar[tuple[int, ...]] = ()  # numbers of each field before the arrays; 0: one, which is no tuple
    _arrays: ClassVar[dict[str, np.dtype[Any]]] = {}

    def __init_subclass__(cls) -> None:
        """Make the layout from the annotations."""
        hints = get_type_hints(cls, include_extras=True)
        codes = {name: hint.__metadata__[0] for name, hint in hints.items() if hasattr(hint, "__metadata__")}
        cls._arrays = {name: np.dtype(code) for name, code in codes.items() if code[0] == "<"}
        numbers = [code for name, code in codes.items() if name not in cls._arrays]
        cls._layout = struct.Struct("<" + "".join(numbers))
        cls._counts = tuple(int(found[1]) if (found := re.fullmatch(r"(\d+)[^\ds]", code)) else 0 for code in numbers)

    @classmethod
    def size(cls, channels: int = 0) -> int:
        """Return its bytes, with arrays of so many elements."""
        return cls._layout.size + sum(ended(kind.itemsize * channels) for kind in cls._arrays.values())

    @classmethod
    def offset(cls, array: str, channels: int) -> int:
        """Return where an array begins."""
        before = list(cls._arrays)[: list(cls._arrays).index(array)]
        return cls._layout.size + sum(ended(cls._arrays[name].itemsize * channels) for name in before)

    @classmethod
    def of(cls: type[P], source: object, **others: Any) -> P:
        """Return the part whose fields an object has by name, but `others` and those that must be zero."""
        wanted = [each.name for each in fields(cls) if each.default is MISSING and each.name not in others]
        return cls(**{name: getattr(source, name) for name in wanted}, **others)

    def values(self) -> dict[str, Any]:
        """Return its fields by name, but those with a default, which must be zero."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.default is MISSING}

    def pack(self) -> bytes:
        """Return its bytes."""
        flat: list[Any] = []
        names = [each.name for each in fields(self)]
        for name, count in zip(names, self._counts, strict=False):
            flat.extend(getattr(self, name) if count else (getattr(self, name),))
        arrays = (np.asarray(getattr(self, name)).astype(kind).tobytes() for name, kind in self._arrays.items())
        return self._layout.pack(*flat) + b"".join(padded(array) for array in arrays)

    @classmethod
    def unpack(cls: type[P], blob: bytes, offset: int, channels: int = 0) -> P:
        """Read it from bytes that are long enough; arrays are copies of so many elements."""
        flat = iter(cls._layout.unpack_from(blob, offset))
        found: list[Any] = [tuple(next(flat) for _ in range(count)) if count else next(flat) for count in cls._counts]
        for name, kind in cls._arrays.items():
            at = offset + cls.offset(name, channels)
            found.append(np.frombuffer(blob, kind, channels, at).astype(kind.newbyteorder("=")))
        return cls(**dict(zip([each.name for each in fields(cls)], found, strict=True)))


def ended(size: int) -> int:
    """Return a size rounded up to a multiple of 4."""
    return (size + 3) & ~3


def padded(data: bytes) -> bytes:
    """Return bytes with zeros up to a multiple of 4."""
    return data + bytes(-len(data) % 4)
