"""Variables and types of an image from its debug information (DWARF 5, sections 4 and 5)."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from elftools.common.exceptions import DWARFError, ELFError
from elftools.dwarf.die import DIE
from elftools.elf.elffile import ELFFile

from hil.errors import RigError
from hil.images.c_types import POINTER, Array, CppReference, CType, Member, Number, Opaque, Pointer, Struct

DW_OP_ADDR = 0x03
BOOLEAN, FLOAT, SIGNED, SIGNED_CHAR, COMPLEX = 0x02, 0x04, 0x05, 0x06, 0x03  # DW_ATE (table 5.1)
QUALIFIERS = (
    "DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_atomic_type", "DW_TAG_restrict_type",
)  # fmt: skip
STRUCTS = {"DW_TAG_structure_type": "struct", "DW_TAG_union_type": "union", "DW_TAG_class_type": "class"}
SCOPES = ("DW_TAG_namespace", "DW_TAG_subprogram", "DW_TAG_lexical_block")


@dataclass(frozen=True)
class Variable:
    """A variable of the program.

    Attributes:
        name: in the source.
        scopes: file, namespaces, classes and function that it is in, outermost first.
        address: None if it has none: only declared, or optimised out.
        declared: whether this is a declaration without a definition.
        type: of the debug information.
    """

    name: str
    scopes: tuple[str, ...]
    address: int | None
    declared: bool
    type: CType


class DebugInfo:
    """The debug information of one ELF file, read when it is first asked for.

    Raises (every method):
        RigError: the debug information is damaged.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[int, CType] = {}

    @cached_property
    def _units(self) -> list[DIE]:
        with _readable(self._path):
            elf = ELFFile(io.BytesIO(self._path.read_bytes()))
            if not elf.has_dwarf_info():
                return []
            return [unit.get_top_DIE() for unit in elf.get_dwarf_info().iter_CUs()]

    @property
    def is_there(self) -> bool:
        """Whether the file has any."""
        return bool(self._units)

    def compilers(self) -> list[str]:
        """Return each compiler with the flags that it notes (DW_AT_producer, section 3.1.1), the most used first."""
        with _readable(self._path):
            producers = (top.attributes.get("DW_AT_producer") for top in self._units)
            said = Counter(one.value.decode("utf-8", "replace").strip() for one in producers if one is not None)
        return [text for text, _ in said.most_common() if text]

    def variables(self, name: str) -> list[Variable]:
        """Return the variables of a name: global ones and static ones of files, else those within functions."""
        with _readable(self._path):
            return list(self._found(name, inside=False)) or list(self._found(name, inside=True))

    def type_named(self, name: str) -> CType | None:
        """Return a type by its name (`conv_t`, `struct layer`, `float`), None if there is none."""
        kind, _, rest = name.rpartition(" ")
        tags = [tag for tag, word in STRUCTS.items() if word == kind] or ["DW_TAG_typedef", "DW_TAG_class_type"]
        if kind == "enum":
            tags = ["DW_TAG_enumeration_type"]
        with _readable(self._path):
            for die in self._types.get(rest if kind in ("struct", "union", "class", "enum") else name, ()):
                if (die.tag in tags or (die.tag == "DW_TAG_base_type")) and "DW_AT_declaration" not in die.attributes:
                    return self._type(die)
        return None

    @cached_property
    def names(self) -> list[str]:
        """Names of all variables outside functions."""
        with _readable(self._path):
            return sorted({_name(die) for top in self._units for die, _ in _walk(top, (), inside=False) if _name(die)})

    @cached_property
    def _types(self) -> dict[str, list[DIE]]:
        found: dict[str, list[DIE]] = {}
        for top in self._units:
            for die in top.iter_children():
                if str(die.tag).endswith(("_type", "_typedef")) and _name(die):
                    found.setdefault(_name(die), []).append(die)
        return found

    def _found(self, name: str, inside: bool) -> Iterator[Variable]:
        for top in self._units:
            file = PurePosixPath(_name(top)).name
            for die, scopes in _walk(top, (file,), inside):
                if _name(die) == name:
                    declared = "DW_AT_declaration" in die.attributes
                    yield Variable(name, (*scopes, *_declared_in(die)), _address(die), declared, self._type_of(die))

    def _type_of(self, die: DIE) -> CType:
        """Return the type of what a DIE describes; without one it is void."""
        for each in (die, _specified(die)):
            if each is not None and "DW_AT_type" in each.attributes:
                return self._type(each.get_DIE_from_attribute("DW_AT_type"))
        return Opaque("void")

    def _type(self, die: DIE) -> CType:
        if die.offset not in self._known:
            self._known[die.offset] = self._made(die)
        return self._known[die.offset]

    def _made(self, die: DIE) -> CType:
        tag, name = die.tag, _name(die)
        if tag in QUALIFIERS:
            return self._type_of(die)
        if tag == "DW_TAG_base_type":
            return _base(name, _number(die, "DW_AT_encoding"), _number(die, "DW_AT_byte_size"))
        if tag == "DW_TAG_enumeration_type":
            under = self._type_of(die)
            size = _number(die, "DW_AT_byte_size") or POINTER.itemsize
            return Number(f"enum {name}", under.dtype if isinstance(under, Number) else np.dtype(f"<u{size}"))
        if tag == "DW_TAG_pointer_type":
            return Pointer(partial(self._type_of, die))
        if tag in ("DW_TAG_reference_type", "DW_TAG_rvalue_reference_type"):
            return CppReference(partial(self._type_of, die))
        if tag in STRUCTS:
            whole = self._defined(die)
            return Struct(
                f"{STRUCTS[tag]} {name or '{...}'}", _number(whole, "DW_AT_byte_size"), partial(self._members, whole)
            )
        if tag == "DW_TAG_array_type":
            kind = self._type_of(die)
            for each in reversed([child for child in die.iter_children() if child.tag == "DW_TAG_subrange_type"]):
                kind = Array(kind, _count(each))
            return kind
        return Opaque("a function" if tag == "DW_TAG_subroutine_type" else name or str(tag))

    def _defined(self, die: DIE) -> DIE:
        """Return the definition of a structure that a unit only declares, if another one has it."""
        if "DW_AT_declaration" in die.attributes:
            for other in self._types.get(_name(die), ()):
                if other.tag == die.tag and "DW_AT_declaration" not in other.attributes:
                    return other
        return die

    def _members(self, die: DIE) -> dict[str, Member]:
        found: dict[str, Member] = {}
        for child in die.iter_children():
            if child.tag not in ("DW_TAG_member", "DW_TAG_inheritance") or "DW_AT_external" in child.attributes:
                continue
            if "DW_AT_virtuality" in child.attributes:  # only the object knows where a virtual base is (section 5.7.3)
                continue
            offset, name = _offset(child), _name(child)
            if name:
                found[name] = Member(name, offset, partial(self._type_of, child), "DW_AT_bit_size" in child.attributes)
                continue
            inner = self._type_of(child)
            for each in inner.members().values() if isinstance(inner, Struct) else ():
                found.setdefault(each.name, Member(each.name, offset + each.offset, each.type, each.bits))
        return found


class _readable:  # noqa: N801 - a context manager, used as a function
    """Turn errors of pyelftools into a sentence."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, _kind: Any, error: BaseException | None, _trace: Any) -> None:
        if isinstance(
            error, (DWARFError, ELFError, KeyError, IndexError, AttributeError, ValueError, NotImplementedError)
        ):
            raise RigError(f"the debug information of {self._path} cannot be read ({error}): compile it with -g again.")


def _walk(die: DIE, scopes: tuple[str, ...], inside: bool) -> Iterator[tuple[DIE, tuple[str, ...]]]:
    """Yield variables with their scopes, `inside` those in functions too."""
    for child in die.iter_children():
        if child.tag == "DW_TAG_variable":
            yield child, scopes
        elif child.tag in SCOPES and (inside or child.tag == "DW_TAG_namespace"):
            own = _name(child)
            yield from _walk(child, (*scopes, own) if own else scopes, inside)


def _declared_in(die: DIE) -> tuple[str, ...]:
    """Return the namespaces and classes of a variable that is defined outside of them (section 4.1)."""
    found: list[str] = []
    inner = _specified(die)
    while inner is not None and (inner := inner.get_parent()) is not None:
        if inner.tag == "DW_TAG_namespace" or inner.tag in STRUCTS:
            found.insert(0, _name(inner))
    return tuple(each for each in found if each)


def _specified(die: DIE) -> DIE | None:
    for name in ("DW_AT_specification", "DW_AT_abstract_origin"):
        if name in die.attributes:
            return die.get_DIE_from_attribute(name)
    return None


def _name(die: DIE) -> str:
    attribute = die.attributes.get("DW_AT_name")
    if attribute is None:
        origin = _specified(die)
        return _name(origin) if origin is not None else ""
    return str(attribute.value.decode("utf-8", "replace"))


def _number(die: DIE, name: str) -> int:
    attribute = die.attributes.get(name)
    return int(attribute.value) if attribute is not None else 0


def _address(die: DIE) -> int | None:
    attribute = die.attributes.get("DW_AT_location")
    if attribute is None or not attribute.form.startswith(("DW_FORM_exprloc", "DW_FORM_block")):
        return None
    code = bytes(attribute.value)
    return int.from_bytes(code[1:5], "little") if len(code) == 5 and code[0] == DW_OP_ADDR else None


def _offset(die: DIE) -> int:
    attribute = die.attributes.get("DW_AT_data_member_location")
    if attribute is None:
        return 0
    return int(attribute.value) if isinstance(attribute.value, int) else _uleb128(bytes(attribute.value[1:]))


def _uleb128(data: bytes) -> int:
    """Return the operand of DW_OP_plus_uconst, with which DWARF 2 writes offsets (7.6)."""
    return sum((byte & 0x7F) << 7 * place for place, byte in enumerate(data))


def _count(die: DIE) -> int | None:
    for name, more in (("DW_AT_count", 0), ("DW_AT_upper_bound", 1)):
        attribute = die.attributes.get(name)
        if attribute is not None and isinstance(attribute.value, int) and not attribute.form.startswith("DW_FORM_ref"):
            return (int(attribute.value) + more) & 0xFFFF_FFFF  # the bound of an array without elements is -1
    return None


def _base(name: str, encoding: int, size: int) -> CType:
    letter = {BOOLEAN: "?", FLOAT: "<f", SIGNED: "<i", SIGNED_CHAR: "<i", COMPLEX: "<c"}.get(encoding, "<u")
    try:
        kind = np.dtype("?" if letter == "?" else f"{letter}{size}")
    except TypeError:
        return Opaque(name, size)  # such as long double of another compiler, or fixed point
    return Number(name, kind)
