"""Expressions of C over the memory of a halted or running program: `linear->weights->data[3]`.

Members, arrow, index, `*`, `&`, casts, whole numbers, `'file.c'::name` and `function::name` for static variables. Only
pointers and indices on the way are read; the result is a place in memory with its type.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from hil.boards import Board
from hil.bool_bytes import wrong_bool
from hil.dut.variables import variable
from hil.errors import DeviceFault, RigError, close_matches
from hil.images import Image
from hil.images.c_types import POINTER, Array, CppReference, CType, Number, Opaque, Pointer, Struct, number, size_of

TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*)(?![\w.])|(?P<name>[A-Za-z_$][\w$]*)|'(?P<file>[^']*)'"
    r"|(?P<sign>->|::|[-.\[\]()*&+]))"
)
KINDS = ("struct", "union", "enum", "class")
INT, UNSIGNED = Number("int", np.dtype("<i4")), Number("unsigned int", np.dtype("<u4"))  # and long, of these cores
LONG_LONG, UNSIGNED_LONG_LONG = Number("long long", np.dtype("<i8")), Number("unsigned long long", np.dtype("<u8"))
WHOLE = (INT, UNSIGNED, LONG_LONG, UNSIGNED_LONG_LONG)
LONGEST = 1000  # characters of an expression
Read: TypeAlias = Callable[[int, int], bytes]


class PointsNowhere(RigError):
    """A pointer on the way is NULL, or points into no memory; `fact` says which, without the cure."""

    def __init__(self, fact: str) -> None:
        super().__init__(f"{fact}: read it when it is set.")
        self.fact = fact

    def __reduce__(self) -> tuple[type[PointsNowhere], tuple[str]]:
        """Give pickle the argument of this class."""
        return type(self), (self.fact,)


@dataclass(frozen=True)
class MemoryPlace:
    """A place in memory: address and type."""

    address: int
    type: CType


@dataclass(frozen=True)
class Word:
    """A value that is in no memory: a number, an address taken with `&`, or the result of a cast."""

    value: int | float
    type: CType

    @property
    def number(self) -> Any:
        """The value as a number of NumPy; what a whole number cannot hold is cut off, as in C."""
        kind = self.type.dtype if isinstance(self.type, Number) else POINTER
        if kind.kind not in "iu":
            return kind.type(self.value)
        bits = int(self.value) & ((1 << 8 * kind.itemsize) - 1)
        return np.frombuffer(bits.to_bytes(kind.itemsize, "little"), kind)[0]


def evaluate(text: str, image: Image, board: Board, read: Read) -> MemoryPlace | Word:
    """Return what an expression of C names.

    Args:
        text: the expression.
        image: whose symbols and debug information give variables and types.
        board: whose memories pointers must point into.
        read: returns bytes at an address.

    Raises:
        PointsNowhere: a pointer points nowhere.
        RigError: it is no such expression, or a name, a member or an index is not there.
    """
    return _Evaluation(text, image, board, read).result()


class _Evaluation:
    """Evaluates one expression by recursive descent, with the precedence of C."""

    def __init__(self, text: str, image: Image, board: Board, read: Read) -> None:
        self._text, self._image, self._board, self._read = text, image, board, read
        self._tokens = self._split()
        self._next = 0

    def result(self) -> MemoryPlace | Word:
        found = self._unary()
        if self._next < len(self._tokens):
            raise self._unclear(f"{self._tokens[self._next][1]!r} is not expected there")
        return found

    def _split(self) -> list[tuple[str, str]]:
        found, at, text = [], 0, self._text.strip()
        if len(text) > LONGEST:
            raise self._unclear(f"it has more than {LONGEST} characters")
        while at < len(text):
            token = TOKEN.match(text, at)
            if token is None or token.lastgroup is None:
                raise self._unclear(f"{text[at:].strip()[:20]!r} is not expected there")
            found.append((token.lastgroup, token[token.lastgroup]))
            at = token.end()
        return found

    def _unclear(self, why: str) -> RigError:
        return RigError(
            f"{self._text[:LONGEST]!r} is no expression that can be read ({why}): names, numbers, ->, ., [index], *, & "
            "and casts can."
        )

    def _peek(self, ahead: int = 0) -> tuple[str, str]:
        place = self._next + ahead
        return self._tokens[place] if place < len(self._tokens) else ("end", "")

    def _take(self, sign: str) -> bool:
        if self._peek() == ("sign", sign):
            self._next += 1
            return True
        return False

    def _must(self, sign: str) -> None:
        if not self._take(sign):
            raise self._unclear(f"{sign!r} is missing")

    def _unary(self) -> MemoryPlace | Word:
        if self._take("*"):
            return self._pointed_at(self._unary(), "*")
        if self._take("&"):
            place = self._unary()
            if isinstance(place, Word):
                raise self._unclear("& needs something that is in memory")
            return Word(place.address, Pointer(lambda: place.type))
        if self._take("-"):
            return self._negative(self._unary())
        if self._peek() == ("sign", "(") and (kind := self._cast()) is not None:
            value = self._unary()
            if isinstance(value, MemoryPlace) and not isinstance(kind, Pointer | Number):
                return MemoryPlace(value.address, kind)
            if isinstance(kind, Pointer):
                return Word(self._number(value) & 0xFFFF_FFFF, kind)
            found = self._value(value)
            if not math.isfinite(found) and not (isinstance(kind, Number) and kind.dtype.kind in "fb"):
                raise RigError(f"{self._text!r}: {found} is no whole number: cast it to float or double.")
            return Word(Word(found, kind).number.item(), kind)
        return self._postfix()

    def _negative(self, inner: MemoryPlace | Word) -> Word:
        """Return a number with the other sign, what is narrower as int (C11, 6.5.3.3 and 6.3.1.1)."""
        if not isinstance(inner.type, Number):
            raise RigError(f"{self._text!r}: - needs a number, and that is {inner.type.name}.")
        kind, found = inner.type, self._value(inner)
        if kind.dtype.kind != "f" and kind.dtype.itemsize < INT.dtype.itemsize:
            kind = INT
        return Word(Word(-found, kind).number.item(), kind)

    def _constant(self, text: str) -> Word:
        """Return a whole number with the first type of C that holds it (C11, 6.4.4.1); `010` is octal, and is 8."""
        digits = text.rstrip("uUlL")
        suffix = text[len(digits) :].lower()
        octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
        if octal and not set(digits) <= set("01234567"):
            raise self._unclear(f"{digits} begins with 0, so that it is octal in C, and has no such digits")
        value = int(digits, 8 if octal else 0)
        decimal = not octal and digits.isdigit()
        kinds = (UNSIGNED, UNSIGNED_LONG_LONG) if "u" in suffix else (INT, LONG_LONG) if decimal else WHOLE
        for kind in kinds:
            if value <= np.iinfo(kind.dtype).max and not ("ll" in suffix and kind in (INT, UNSIGNED)):
                return Word(value, kind)
        raise self._unclear(f"no type of 64 bits holds {digits}")

    def _cast(self) -> CType | None:
        """Return the type of a cast that begins here, past which it goes; None if there is none."""
        words, ahead = [], 1
        while self._peek(ahead)[0] == "name":
            words.append(self._peek(ahead)[1])
            ahead += 1
        words = [word for word in words if word not in ("const", "volatile")]
        if not words or (words[0] not in KINDS and len(words) == 1 and self._image.debug.variables(words[0])):
            return None
        stars = 0
        while self._peek(ahead) == ("sign", "*"):
            stars, ahead = stars + 1, ahead + 1
        name = " ".join(words)
        kind = self._image.debug.type_named(name) or number(name) or (Opaque("void") if name == "void" else None)
        if self._peek(ahead) != ("sign", ")"):
            return None
        if kind is None:
            if len(words) == 1 and not stars:
                return None  # a name in brackets
            raise RigError(f"{self._text!r}: {self._image.path.name} has no type {name!r}: write one that it uses.")
        self._next += ahead + 1
        for _ in range(stars):
            kind = _pointer_to(kind)
        return kind

    def _postfix(self) -> MemoryPlace | Word:
        place = self._primary()
        while True:
            if self._take("->"):
                place = self._member(self._pointed_at(place, "->"))
            elif self._take("."):
                place = self._member(place)
            elif self._take("["):
                index = self._number(self._unary())
                self._must("]")
                place = self._element(place, index)
            else:
                return place

    def _primary(self) -> MemoryPlace | Word:
        kind, text = self._peek()
        self._next += 1
        if kind == "number":
            return self._constant(text)
        if kind == "sign" and text == "(":
            inner = self._unary()
            self._must(")")
            return inner
        scopes = []
        while kind in ("name", "file") and self._take("::"):
            scopes.append(text)
            kind, text = self._peek()
            self._next += 1
        if kind != "name":
            raise self._unclear("a name is missing" if kind == "end" else f"{text!r} is not expected there")
        return self._meant(MemoryPlace(*variable(self._image, text, tuple(scopes))))

    def _meant(self, place: MemoryPlace) -> MemoryPlace:
        """Return what a reference of C++ stands for; another place as it is."""
        while isinstance(place.type, CppReference):
            address = int.from_bytes(self._read(place.address, POINTER.itemsize), "little")
            self._check(address, place.type)
            place = MemoryPlace(address, place.type.target())
        return place

    def _pointed_at(self, value: MemoryPlace | Word, sign: str) -> MemoryPlace:
        if isinstance(value.type, Array) and isinstance(value, MemoryPlace):
            return MemoryPlace(value.address, value.type.element)
        if not isinstance(value.type, Pointer):
            raise RigError(f"{self._text!r}: {sign} needs a pointer, and that is {value.type.name}.")
        address = self._number(value)
        self._check(address, value.type)
        return MemoryPlace(address, value.type.target())

    def _check(self, address: int, kind: CType) -> None:
        """Raise PointsNowhere unless a pointer points into a memory of the board or to a peripheral."""
        if address == 0 and not isinstance(kind, Array):
            raise PointsNowhere(f"{self._text!r}: a pointer on the way ({kind.name}) is NULL")
        system = 0x4000_0000 <= address < 0x6000_0000 or address >= 0xE000_0000  # ARM DDI 0403E.e, B3.1: address map
        if not system and not any(address in memory for memory in self._board.memory):
            raise PointsNowhere(
                f"{self._text!r}: a pointer on the way ({kind.name}) is 0x{address:08X}, which is in no memory of "
                f"{self._board.name}"
            )

    def _member(self, place: MemoryPlace | Word) -> MemoryPlace:
        kind, name = self._peek()
        self._next += 1
        if kind != "name":
            raise self._unclear("the name of a member is missing")
        if isinstance(place, Word) or not isinstance(place.type, Struct):
            cure = ", write ->" if isinstance(place.type, Pointer) else ""
            raise RigError(f"{self._text!r}: .{name} needs a structure, and that is {place.type.name}{cure}.")
        members = place.type.members()
        if not members:
            raise RigError(
                f"{self._text!r}: {place.type.name} is only declared: compile the file that defines it with -g."
            )
        if name not in members:
            raise RigError(f"{self._text!r}: {place.type.name} has no member {name!r}: {close_matches(name, members)}")
        member = members[name]
        if member.bits:
            raise RigError(f"{self._text!r}: {name} is a bit-field: read the bytes around it by address and dtype.")
        return self._meant(MemoryPlace(place.address + member.offset, member.type()))

    def _element(self, place: MemoryPlace | Word, index: int) -> MemoryPlace:
        count = None
        if isinstance(place.type, Array) and isinstance(place, MemoryPlace):
            start, element, count = place.address, place.type.element, place.type.count
        elif isinstance(place.type, Pointer):
            start, element = self._number(place), place.type.target()
            self._check(start, place.type)
        else:
            raise RigError(f"{self._text!r}: [{index}] needs an array or a pointer, and that is {place.type.name}.")
        size = size_of(element)
        if not size:
            raise RigError(
                f"{self._text!r}: the size of {element.name} is not known: cast it, as in ((float *)p)[{index}]."
            )
        if count and not 0 <= index < count:
            raise RigError(
                f"{self._text!r}: the index {index} is out of range: {place.type.name} has 0 to {count - 1}."
            )
        found = MemoryPlace((start + index * size) & 0xFFFF_FFFF, element)
        if count is None:
            self._check(found.address, place.type)
        return found

    def _number(self, value: MemoryPlace | Word) -> int:
        """Return a whole number or an address, read if it is in memory."""
        found = self._value(value)
        if not isinstance(found, int):
            raise RigError(f"{self._text!r}: {value.type.name} is no whole number.")
        return int(found)

    def _value(self, value: MemoryPlace | Word) -> int | float:
        """Return a number or an address, read if it is in memory; a bool as 0 or 1."""
        if isinstance(value, Word):
            return value.value
        if isinstance(value.type, Array):
            return value.address
        kind = value.type.dtype if isinstance(value.type, Number) else POINTER
        if not isinstance(value.type, Number | Pointer) or kind.kind not in "iubf":
            raise RigError(f"{self._text!r}: {value.type.name} is no number.")
        data = np.frombuffer(self._read(value.address, kind.itemsize), kind)
        if wrong := wrong_bool(data[0:1].reshape(())):
            raise DeviceFault(f"{self._text!r}: the bool in it at 0x{value.address:08X} has {wrong}.")
        found: int | float = data[0].item()
        return found


def _pointer_to(kind: CType) -> Pointer:
    return Pointer(lambda: kind)
